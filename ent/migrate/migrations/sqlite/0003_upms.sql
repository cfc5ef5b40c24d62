-- create "e_dict" table
CREATE TABLE `e_dict` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `code` text NOT NULL, `name` text NULL, `remark` text NULL);
-- create index "uk_dict_code" to table: "e_dict"
CREATE UNIQUE INDEX `uk_dict_code` ON `e_dict` (`code`);
-- create "e_dict_item" table
CREATE TABLE `e_dict_item` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `code` text NOT NULL, `name` text NULL, `val` text NULL, `sort` integer NULL, `remark` text NULL, `erupt_dict_id` integer NULL, CONSTRAINT `e_dict_item_e_dict_items` FOREIGN KEY (`erupt_dict_id`) REFERENCES `e_dict` (`id`) ON DELETE SET NULL);
-- create index "uk_dict_item_code_dict" to table: "e_dict_item"
CREATE UNIQUE INDEX `uk_dict_item_code_dict` ON `e_dict_item` (`code`, `erupt_dict_id`);
-- create "e_open_api" table
CREATE TABLE `e_open_api` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `appid` text NOT NULL, `name` text NULL, `expire` integer NULL, `status` bool NULL DEFAULT (true), `secret` text NULL, `current_token` text NULL, `erupt_user_id` integer NULL, CONSTRAINT `e_open_api_e_upms_user_open_apis` FOREIGN KEY (`erupt_user_id`) REFERENCES `e_upms_user` (`id`) ON DELETE SET NULL);
-- create index "ix_open_api_appid" to table: "e_open_api"
CREATE INDEX `ix_open_api_appid` ON `e_open_api` (`appid`);
