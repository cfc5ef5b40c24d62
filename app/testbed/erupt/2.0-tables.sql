-- Tables that erupt 2.0.4 creates in MariaDB 10.11. Foreign keys point forward: load with foreign_key_checks = 0.

CREATE TABLE `e_cloud_node` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `access_token` varchar(255) DEFAULT NULL COMMENT 'Access Token',
  `config` mediumtext DEFAULT NULL COMMENT 'Node configuration',
  `duty` varchar(255) DEFAULT NULL COMMENT 'Person in charge',
  `name` varchar(255) DEFAULT NULL COMMENT 'Friendly name',
  `node_name` varchar(255) DEFAULT NULL COMMENT 'Node name',
  `remark` varchar(2000) DEFAULT NULL COMMENT 'Description',
  `status` bit(1) DEFAULT NULL COMMENT 'status',
  `cloud_node_group_id` bigint(20) DEFAULT NULL COMMENT 'Owning group',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKr3jlok3jyaw4plntt4wk59n5b` (`node_name`),
  KEY `FKdlevmrjxsm5xjcbl52w1vphn6` (`cloud_node_group_id`),
  CONSTRAINT `FKdlevmrjxsm5xjcbl52w1vphn6` FOREIGN KEY (`cloud_node_group_id`) REFERENCES `e_cloud_node_group` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Node configuration';
CREATE TABLE `e_cloud_node_group` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `code` varchar(255) DEFAULT NULL COMMENT 'Code',
  `config` mediumtext DEFAULT NULL COMMENT 'Packet configuration',
  `name` varchar(255) DEFAULT NULL COMMENT 'Name',
  `remark` varchar(2000) DEFAULT NULL COMMENT 'Description',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKtnlrraw5l0dtam4pm9ynljv0d` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Packet configuration';
CREATE TABLE `e_dict` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `code` varchar(64) DEFAULT NULL COMMENT 'Code',
  `name` varchar(255) DEFAULT NULL COMMENT 'Title',
  `remark` varchar(255) DEFAULT NULL COMMENT 'Remark',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKf5wwh5osfukkeebw7h2yb4kmp` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Dictionary maintenance';
CREATE TABLE `e_dict_item` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `code` varchar(64) DEFAULT NULL COMMENT 'Code',
  `name` varchar(255) DEFAULT NULL COMMENT 'Title',
  `remark` varchar(255) DEFAULT NULL COMMENT 'Remark',
  `sort` int(11) DEFAULT NULL,
  `val` varchar(255) DEFAULT NULL COMMENT 'value',
  `erupt_dict_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_dict_item_code_dict` (`code`,`erupt_dict_id`),
  KEY `FKrrbi2dt94rjd8sjt830m3w0a` (`erupt_dict_id`),
  CONSTRAINT `FKrrbi2dt94rjd8sjt830m3w0a` FOREIGN KEY (`erupt_dict_id`) REFERENCES `e_dict` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Dictionary item';
CREATE TABLE `e_open_api` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `appid` varchar(255) DEFAULT NULL COMMENT 'APPID',
  `current_token` varchar(255) DEFAULT NULL,
  `expire` int(11) DEFAULT NULL COMMENT 'Token validity period',
  `name` varchar(255) DEFAULT NULL COMMENT 'Title',
  `secret` varchar(255) DEFAULT NULL COMMENT 'Secret key',
  `status` bit(1) DEFAULT NULL COMMENT 'Status',
  `erupt_user_id` bigint(20) DEFAULT NULL COMMENT 'Bind user permissions',
  PRIMARY KEY (`id`),
  KEY `FKq22btcw7mfptn0sgvpjtp3tjh` (`erupt_user_id`),
  CONSTRAINT `FKq22btcw7mfptn0sgvpjtp3tjh` FOREIGN KEY (`erupt_user_id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Open API';
CREATE TABLE `e_upms_login_log` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `browser` varchar(255) DEFAULT NULL COMMENT 'Browser',
  `device_type` varchar(255) DEFAULT NULL COMMENT 'Device type',
  `ip` varchar(64) DEFAULT NULL COMMENT 'Ip address',
  `login_time` datetime(6) DEFAULT NULL COMMENT 'Login time',
  `region` varchar(255) DEFAULT NULL COMMENT 'Op source',
  `system_name` varchar(255) DEFAULT NULL COMMENT 'OS',
  `token` varchar(255) DEFAULT NULL COMMENT 'Token',
  `user_name` varchar(255) DEFAULT NULL COMMENT 'Account',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Entry log';
CREATE TABLE `e_upms_menu` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL COMMENT 'Creator',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_by` varchar(255) DEFAULT NULL COMMENT 'Updater',
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `code` varchar(64) DEFAULT NULL COMMENT 'Code',
  `icon` varchar(255) DEFAULT NULL COMMENT 'Icon',
  `name` varchar(255) DEFAULT NULL COMMENT 'Title',
  `param` varchar(2000) DEFAULT NULL COMMENT 'Customer param',
  `sort` int(11) DEFAULT NULL COMMENT 'Order',
  `status` int(11) DEFAULT NULL COMMENT 'Status',
  `type` varchar(255) DEFAULT NULL COMMENT 'Menu type',
  `value` varchar(255) DEFAULT NULL COMMENT 'Menu value',
  `parent_menu_id` bigint(20) DEFAULT NULL COMMENT 'Parent',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK95xpkppt33d2bka0g2d7rgwqt` (`code`),
  KEY `FK5mkgea183mm02v7ic1pdwxy5s` (`parent_menu_id`),
  CONSTRAINT `FK5mkgea183mm02v7ic1pdwxy5s` FOREIGN KEY (`parent_menu_id`) REFERENCES `e_upms_menu` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Menu maintenance';
CREATE TABLE `e_upms_operate_log` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `api_name` varchar(255) DEFAULT NULL COMMENT 'Function name',
  `before_data` mediumtext DEFAULT NULL COMMENT 'Before data',
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Record time',
  `error_info` varchar(4000) DEFAULT NULL COMMENT 'Error message',
  `ip` varchar(255) DEFAULT NULL COMMENT 'Ip address',
  `operate_user` varchar(255) DEFAULT NULL COMMENT 'operator',
  `region` varchar(255) DEFAULT NULL COMMENT 'Op source',
  `req_addr` varchar(2000) DEFAULT NULL COMMENT 'URL',
  `req_method` varchar(64) DEFAULT NULL COMMENT 'Method',
  `req_param` mediumtext DEFAULT NULL COMMENT 'Req param',
  `status` bit(1) DEFAULT NULL COMMENT 'Is success',
  `total_time` bigint(20) DEFAULT NULL COMMENT 'Req time',
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Operation log';
CREATE TABLE `e_upms_org` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `code` varchar(64) DEFAULT NULL COMMENT 'Org code',
  `name` varchar(255) DEFAULT NULL COMMENT 'Org name',
  `sort` int(11) DEFAULT NULL COMMENT 'Order',
  `parent_org_id` bigint(20) DEFAULT NULL COMMENT 'Parent org',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKc2wj35ujq2m84uw59dx6wy3gj` (`code`),
  KEY `FKtj7222kjnkt7pv9kfn9g8ck4h` (`parent_org_id`),
  CONSTRAINT `FKtj7222kjnkt7pv9kfn9g8ck4h` FOREIGN KEY (`parent_org_id`) REFERENCES `e_upms_org` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Organization maintenance';
CREATE TABLE `e_upms_post` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `code` varchar(64) DEFAULT NULL COMMENT 'Code',
  `name` varchar(255) DEFAULT NULL COMMENT 'Name',
  `weight` int(11) DEFAULT NULL COMMENT 'Weight',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKltq5h3n5cyyk5nxtjhg9lhidg` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Post maintenance';
CREATE TABLE `e_upms_role` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_time` datetime(6) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL COMMENT 'Update time',
  `code` varchar(64) DEFAULT NULL COMMENT 'Code',
  `name` varchar(255) DEFAULT NULL COMMENT 'Title',
  `sort` int(11) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL COMMENT 'Status',
  `create_user_id` bigint(20) DEFAULT NULL,
  `update_user_id` bigint(20) DEFAULT NULL COMMENT 'Updater',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKjgxkp7mr4183tcwosrbqpsl3a` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='Role maintenance';
CREATE TABLE `e_upms_role_menu` (
  `role_id` bigint(20) NOT NULL,
  `menu_id` bigint(20) NOT NULL,
  PRIMARY KEY (`role_id`,`menu_id`),
  KEY `fk_role_menu_menu` (`menu_id`),
  CONSTRAINT `fk_role_menu_menu` FOREIGN KEY (`menu_id`) REFERENCES `e_upms_menu` (`id`),
  CONSTRAINT `fk_role_menu_role` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_user` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_time` datetime(6) DEFAULT NULL COMMENT 'Creation time',
  `update_time` datetime(6) DEFAULT NULL,
  `account` varchar(64) DEFAULT NULL COMMENT 'Account',
  `avatar` varchar(1023) DEFAULT NULL,
  `email` varchar(255) DEFAULT NULL COMMENT 'Email',
  `is_md5` bit(1) DEFAULT NULL COMMENT 'encipher',
  `encrypt_type` varchar(20) DEFAULT NULL,
  `expire_date` datetime(6) DEFAULT NULL COMMENT 'Account expiration time',
  `is_admin` bit(1) DEFAULT NULL COMMENT 'Admin user',
  `name` varchar(255) DEFAULT NULL COMMENT 'Name',
  `password` varchar(255) DEFAULT NULL,
  `phone` varchar(255) DEFAULT NULL COMMENT 'Phone',
  `remark` varchar(2000) DEFAULT NULL COMMENT 'Remark',
  `reset_pwd_time` datetime(6) DEFAULT NULL COMMENT 'Reset password time',
  `salt` varchar(64) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL COMMENT 'Status',
  `white_ip` varchar(2000) DEFAULT NULL COMMENT 'Ip white list',
  `create_user_id` bigint(20) DEFAULT NULL COMMENT 'Creator',
  `update_user_id` bigint(20) DEFAULT NULL,
  `erupt_menu_id` bigint(20) DEFAULT NULL COMMENT 'Home menu',
  `erupt_org_id` bigint(20) DEFAULT NULL COMMENT 'Org',
  `erupt_post_id` bigint(20) DEFAULT NULL COMMENT 'Post',
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK812t22yn0295dkkvx5gjgahax` (`account`),
  KEY `FKga0jd7sahnn1tv14mq4dy5kba` (`erupt_menu_id`),
  KEY `FK1re8jv3614mkk2wfxscvgvmnm` (`erupt_org_id`),
  KEY `FK53cice19aydjcuykpv847ocdv` (`erupt_post_id`),
  CONSTRAINT `FK1re8jv3614mkk2wfxscvgvmnm` FOREIGN KEY (`erupt_org_id`) REFERENCES `e_upms_org` (`id`),
  CONSTRAINT `FK53cice19aydjcuykpv847ocdv` FOREIGN KEY (`erupt_post_id`) REFERENCES `e_upms_post` (`id`),
  CONSTRAINT `FKga0jd7sahnn1tv14mq4dy5kba` FOREIGN KEY (`erupt_menu_id`) REFERENCES `e_upms_menu` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='User maintenance';
CREATE TABLE `e_upms_user_org_division` (
  `id` bigint(20) NOT NULL,
  `division_org` bigint(20) DEFAULT NULL,
  KEY `FKgcip8pb9x72pfpweh488jpb4o` (`id`),
  CONSTRAINT `FKgcip8pb9x72pfpweh488jpb4o` FOREIGN KEY (`id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_user_org_head` (
  `id` bigint(20) NOT NULL,
  `head_org` bigint(20) DEFAULT NULL,
  KEY `FKt18cobxo26v3eiv68dxplir4b` (`id`),
  CONSTRAINT `FKt18cobxo26v3eiv68dxplir4b` FOREIGN KEY (`id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_user_role` (
  `user_id` bigint(20) NOT NULL,
  `role_id` bigint(20) NOT NULL,
  PRIMARY KEY (`user_id`,`role_id`),
  KEY `fk_user_role_role` (`role_id`),
  CONSTRAINT `fk_user_role_role` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`),
  CONSTRAINT `fk_user_role_user` FOREIGN KEY (`user_id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
