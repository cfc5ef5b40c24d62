-- create "e_cloud_config_revision" table
CREATE TABLE `e_cloud_config_revision` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `owner` text NOT NULL, `owner_id` integer NOT NULL, `revision` integer NOT NULL, `config` text NULL, `author` text NULL, `address` text NULL, `note` text NULL, `created` datetime NOT NULL);
-- create index "uk_cloud_config_revision" to table: "e_cloud_config_revision"
CREATE UNIQUE INDEX `uk_cloud_config_revision` ON `e_cloud_config_revision` (`owner`, `owner_id`, `revision`);
-- create "e_cloud_node_group" table
CREATE TABLE `e_cloud_node_group` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `code` text NOT NULL, `name` text NULL, `config` text NULL, `remark` text NULL);
-- create index "uk_cloud_node_group_code" to table: "e_cloud_node_group"
CREATE UNIQUE INDEX `uk_cloud_node_group_code` ON `e_cloud_node_group` (`code`);
-- create "e_cloud_group_extra" table
CREATE TABLE `e_cloud_group_extra` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `group_id` integer NOT NULL, `parent_id` integer NULL, `config_revision` integer NOT NULL DEFAULT (0));
-- create index "uk_cloud_group_extra_group" to table: "e_cloud_group_extra"
CREATE UNIQUE INDEX `uk_cloud_group_extra_group` ON `e_cloud_group_extra` (`group_id`);
-- create "e_upms_login_log" table
CREATE TABLE `e_upms_login_log` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `user_name` text NULL, `login_time` datetime NULL, `ip` text NULL, `region` text NULL, `system_name` text NULL, `browser` text NULL, `device_type` text NULL, `token` text NULL);
-- create index "ix_upms_login_log_time" to table: "e_upms_login_log"
CREATE INDEX `ix_upms_login_log_time` ON `e_upms_login_log` (`login_time`);
-- create "e_upms_menu" table
CREATE TABLE `e_upms_menu` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `name` text NULL, `status` integer NULL, `type` text NULL, `value` text NULL, `sort` integer NULL, `icon` text NULL, `code` text NOT NULL, `param` text NULL, `parent_menu_id` integer NULL, CONSTRAINT `e_upms_menu_e_upms_menu_children` FOREIGN KEY (`parent_menu_id`) REFERENCES `e_upms_menu` (`id`) ON DELETE SET NULL);
-- create index "uk_upms_menu_code" to table: "e_upms_menu"
CREATE UNIQUE INDEX `uk_upms_menu_code` ON `e_upms_menu` (`code`);
-- create "e_cloud_node" table
CREATE TABLE `e_cloud_node` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_by` text NULL, `create_time` datetime NULL, `update_by` text NULL, `update_time` datetime NULL, `node_name` text NOT NULL, `name` text NULL, `status` bool NULL DEFAULT (true), `duty` text NULL, `config` text NULL, `access_token` text NULL, `remark` text NULL, `cloud_node_group_id` integer NULL, CONSTRAINT `e_cloud_node_e_cloud_node_group_nodes` FOREIGN KEY (`cloud_node_group_id`) REFERENCES `e_cloud_node_group` (`id`) ON DELETE SET NULL);
-- create index "uk_cloud_node_name" to table: "e_cloud_node"
CREATE UNIQUE INDEX `uk_cloud_node_name` ON `e_cloud_node` (`node_name`);
-- create "e_cloud_node_extra" table
CREATE TABLE `e_cloud_node_extra` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `node_id` integer NOT NULL, `core` bool NOT NULL DEFAULT (false), `raw_session` bool NOT NULL DEFAULT (false), `old_token` text NULL, `old_token_until` datetime NULL, `config_revision` integer NOT NULL DEFAULT (0), `first_seen` datetime NULL);
-- create index "uk_cloud_node_extra_node" to table: "e_cloud_node_extra"
CREATE UNIQUE INDEX `uk_cloud_node_extra_node` ON `e_cloud_node_extra` (`node_id`);
-- create "e_cloud_node_hold" table
CREATE TABLE `e_cloud_node_hold` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `node_name` text NOT NULL, `location` text NOT NULL, `reason` text NULL, `account` text NOT NULL, `created` datetime NOT NULL);
-- create index "uk_cloud_node_hold" to table: "e_cloud_node_hold"
CREATE UNIQUE INDEX `uk_cloud_node_hold` ON `e_cloud_node_hold` (`node_name`, `location`);
-- create "e_cloud_operate_extra" table
CREATE TABLE `e_cloud_operate_extra` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `log_id` integer NOT NULL, `account` text NULL, `subject` text NULL, `request_id` text NULL);
-- create index "uk_cloud_operate_extra_log" to table: "e_cloud_operate_extra"
CREATE UNIQUE INDEX `uk_cloud_operate_extra_log` ON `e_cloud_operate_extra` (`log_id`);
-- create index "ix_cloud_operate_extra_account" to table: "e_cloud_operate_extra"
CREATE INDEX `ix_cloud_operate_extra_account` ON `e_cloud_operate_extra` (`account`);
-- create index "ix_cloud_operate_extra_subject" to table: "e_cloud_operate_extra"
CREATE INDEX `ix_cloud_operate_extra_subject` ON `e_cloud_operate_extra` (`subject`);
-- create "e_upms_operate_log" table
CREATE TABLE `e_upms_operate_log` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `operate_user` text NULL, `ip` text NULL, `region` text NULL, `api_name` text NULL, `before_data` text NULL, `req_param` text NULL, `status` bool NULL, `error_info` text NULL, `total_time` integer NULL, `create_time` datetime NULL, `req_addr` text NULL, `req_method` text NULL);
-- create index "ix_upms_operate_log_time" to table: "e_upms_operate_log"
CREATE INDEX `ix_upms_operate_log_time` ON `e_upms_operate_log` (`create_time`);
-- create "e_upms_org" table
CREATE TABLE `e_upms_org` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `code` text NOT NULL, `name` text NULL, `sort` integer NULL, `parent_org_id` integer NULL, CONSTRAINT `e_upms_org_e_upms_org_children` FOREIGN KEY (`parent_org_id`) REFERENCES `e_upms_org` (`id`) ON DELETE SET NULL);
-- create index "uk_upms_org_code" to table: "e_upms_org"
CREATE UNIQUE INDEX `uk_upms_org_code` ON `e_upms_org` (`code`);
-- create "e_upms_post" table
CREATE TABLE `e_upms_post` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `code` text NOT NULL, `name` text NULL, `weight` integer NULL);
-- create index "uk_upms_post_code" to table: "e_upms_post"
CREATE UNIQUE INDEX `uk_upms_post_code` ON `e_upms_post` (`code`);
-- create "e_upms_role" table
CREATE TABLE `e_upms_role` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_time` datetime NULL, `create_user_id` integer NULL, `update_time` datetime NULL, `update_user_id` integer NULL, `code` text NOT NULL, `name` text NULL, `sort` integer NULL, `status` bool NULL DEFAULT (true));
-- create index "uk_upms_role_code" to table: "e_upms_role"
CREATE UNIQUE INDEX `uk_upms_role_code` ON `e_upms_role` (`code`);
-- create "e_upms_user" table
CREATE TABLE `e_upms_user` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `create_time` datetime NULL, `create_user_id` integer NULL, `update_time` datetime NULL, `update_user_id` integer NULL, `avatar` text NULL, `account` text NOT NULL, `name` text NULL, `phone` text NULL, `email` text NULL, `status` bool NULL DEFAULT (true), `is_admin` bool NULL DEFAULT (false), `erupt_menu_id` integer NULL, `password` text NULL, `is_md5` bool NULL, `salt` text NULL, `encrypt_type` text NULL, `reset_pwd_time` datetime NULL, `expire_date` datetime NULL, `white_ip` text NULL, `remark` text NULL, `mfa_enabled` bool NULL DEFAULT (false), `mfa_secret` text NULL, `mfa_recovery_codes` text NULL, `erupt_org_id` integer NULL, `erupt_post_id` integer NULL, CONSTRAINT `e_upms_user_e_upms_org_users` FOREIGN KEY (`erupt_org_id`) REFERENCES `e_upms_org` (`id`) ON DELETE SET NULL, CONSTRAINT `e_upms_user_e_upms_post_users` FOREIGN KEY (`erupt_post_id`) REFERENCES `e_upms_post` (`id`) ON DELETE SET NULL);
-- create index "uk_upms_user_account" to table: "e_upms_user"
CREATE UNIQUE INDEX `uk_upms_user_account` ON `e_upms_user` (`account`);
-- create "e_upms_role_menu" table
CREATE TABLE `e_upms_role_menu` (`role_id` integer NOT NULL, `menu_id` integer NOT NULL, PRIMARY KEY (`role_id`, `menu_id`), CONSTRAINT `fk_role_menu_role` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`) ON DELETE CASCADE, CONSTRAINT `fk_role_menu_menu` FOREIGN KEY (`menu_id`) REFERENCES `e_upms_menu` (`id`) ON DELETE CASCADE);
-- create "e_upms_user_role" table
CREATE TABLE `e_upms_user_role` (`user_id` integer NOT NULL, `role_id` integer NOT NULL, PRIMARY KEY (`user_id`, `role_id`), CONSTRAINT `fk_user_role_user` FOREIGN KEY (`user_id`) REFERENCES `e_upms_user` (`id`) ON DELETE CASCADE, CONSTRAINT `fk_user_role_role` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`) ON DELETE CASCADE);
