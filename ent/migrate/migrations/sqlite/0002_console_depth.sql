-- add column "token_rotated" to table: "e_cloud_node_extra"
ALTER TABLE `e_cloud_node_extra` ADD COLUMN `token_rotated` datetime NULL;
-- add column "token_rotated_by" to table: "e_cloud_node_extra"
ALTER TABLE `e_cloud_node_extra` ADD COLUMN `token_rotated_by` text NULL;
-- create "e_cloud_node_drain" table
CREATE TABLE `e_cloud_node_drain` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `node_name` text NOT NULL, `instance_id` text NOT NULL, `reason` text NULL, `account` text NOT NULL, `created` datetime NOT NULL);
-- create index "uk_cloud_node_drain" to table: "e_cloud_node_drain"
CREATE UNIQUE INDEX `uk_cloud_node_drain` ON `e_cloud_node_drain` (`node_name`, `instance_id`);
-- create "e_cloud_node_event" table
CREATE TABLE `e_cloud_node_event` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `at` datetime NOT NULL, `node_name` text NOT NULL, `instance_id` text NULL, `location` text NULL, `kind` text NOT NULL, `reason` text NULL, `account` text NULL, `version` text NULL);
-- create index "ix_cloud_node_event_node" to table: "e_cloud_node_event"
CREATE INDEX `ix_cloud_node_event_node` ON `e_cloud_node_event` (`node_name`, `id`);
-- create index "ix_cloud_node_event_at" to table: "e_cloud_node_event"
CREATE INDEX `ix_cloud_node_event_at` ON `e_cloud_node_event` (`at`);
-- create "e_upms_role_extra" table
CREATE TABLE `e_upms_role_extra` (`id` integer NOT NULL PRIMARY KEY AUTOINCREMENT, `role_id` integer NOT NULL, `read_only` bool NOT NULL DEFAULT (false), `node_groups` text NULL);
-- create index "uk_upms_role_extra_role" to table: "e_upms_role_extra"
CREATE UNIQUE INDEX `uk_upms_role_extra_role` ON `e_upms_role_extra` (`role_id`);
