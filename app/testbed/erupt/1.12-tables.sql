-- Tables that erupt 1.12.23 creates in MariaDB 10.11. Foreign keys point forward: load with foreign_key_checks = 0.

CREATE TABLE `e_cloud_node` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `access_token` varchar(255) DEFAULT NULL,
  `config` longtext DEFAULT NULL,
  `duty` varchar(255) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `node_name` varchar(255) DEFAULT NULL,
  `remark` varchar(2000) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL,
  `cloud_node_group_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_r3jlok3jyaw4plntt4wk59n5b` (`node_name`),
  KEY `FKgtg425s2r6w6rtya8bj8ybcu` (`cloud_node_group_id`),
  CONSTRAINT `FKgtg425s2r6w6rtya8bj8ybcu` FOREIGN KEY (`cloud_node_group_id`) REFERENCES `e_cloud_node_group` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_cloud_node_group` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `code` varchar(255) DEFAULT NULL,
  `config` longtext DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `remark` varchar(2000) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_tnlrraw5l0dtam4pm9ynljv0d` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_dict` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `code` varchar(64) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `remark` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_f5wwh5osfukkeebw7h2yb4kmp` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_dict_item` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `code` varchar(64) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `remark` varchar(255) DEFAULT NULL,
  `sort` int(11) DEFAULT NULL,
  `val` varchar(255) DEFAULT NULL,
  `erupt_dict_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UKrv1fubn1njbf8d7b1wa01exhr` (`code`,`erupt_dict_id`),
  KEY `FKkt8qf2br0krqd1wawmkqconld` (`erupt_dict_id`),
  CONSTRAINT `FKkt8qf2br0krqd1wawmkqconld` FOREIGN KEY (`erupt_dict_id`) REFERENCES `e_dict` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_open_api` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `appid` varchar(255) DEFAULT NULL,
  `current_token` varchar(255) DEFAULT NULL,
  `expire` int(11) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `secret` varchar(255) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL,
  `erupt_user_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `FKnk716fbsaxurui0jjbtf2oaql` (`erupt_user_id`),
  CONSTRAINT `FKnk716fbsaxurui0jjbtf2oaql` FOREIGN KEY (`erupt_user_id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_login_log` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `browser` varchar(255) DEFAULT NULL,
  `device_type` varchar(255) DEFAULT NULL,
  `ip` varchar(64) DEFAULT NULL,
  `login_time` datetime(6) DEFAULT NULL,
  `region` varchar(255) DEFAULT NULL,
  `system_name` varchar(255) DEFAULT NULL,
  `token` varchar(255) DEFAULT NULL,
  `user_name` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_menu` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_by` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_by` varchar(255) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `code` varchar(64) DEFAULT NULL,
  `icon` varchar(255) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `param` varchar(2000) DEFAULT NULL,
  `sort` int(11) DEFAULT NULL,
  `status` int(11) DEFAULT NULL,
  `type` varchar(255) DEFAULT NULL,
  `value` varchar(255) DEFAULT NULL,
  `parent_menu_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_95xpkppt33d2bka0g2d7rgwqt` (`code`),
  KEY `FK7690e34y0ej1ege6241wqovr3` (`parent_menu_id`),
  CONSTRAINT `FK7690e34y0ej1ege6241wqovr3` FOREIGN KEY (`parent_menu_id`) REFERENCES `e_upms_menu` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_operate_log` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `api_name` varchar(255) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `error_info` varchar(4000) DEFAULT NULL,
  `ip` varchar(255) DEFAULT NULL,
  `operate_user` varchar(255) DEFAULT NULL,
  `region` varchar(255) DEFAULT NULL,
  `req_addr` varchar(2000) DEFAULT NULL,
  `req_method` varchar(64) DEFAULT NULL,
  `req_param` longtext DEFAULT NULL,
  `status` bit(1) DEFAULT NULL,
  `total_time` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_org` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `code` varchar(64) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `sort` int(11) DEFAULT NULL,
  `parent_org_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_c2wj35ujq2m84uw59dx6wy3gj` (`code`),
  KEY `FKcgg8a7gssjb5wyt9cqu9nvhaj` (`parent_org_id`),
  CONSTRAINT `FKcgg8a7gssjb5wyt9cqu9nvhaj` FOREIGN KEY (`parent_org_id`) REFERENCES `e_upms_org` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_post` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `code` varchar(64) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `weight` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_ltq5h3n5cyyk5nxtjhg9lhidg` (`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_role` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `create_time` datetime(6) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `code` varchar(64) DEFAULT NULL,
  `name` varchar(255) DEFAULT NULL,
  `sort` int(11) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL,
  `create_user_id` bigint(20) DEFAULT NULL,
  `update_user_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `UK_jgxkp7mr4183tcwosrbqpsl3a` (`code`),
  KEY `FK8gsc0oyxafyhq62ln3xqg5rut` (`create_user_id`),
  KEY `FKbamxcgymo8l8kscr09j1rt9rq` (`update_user_id`),
  CONSTRAINT `FK8gsc0oyxafyhq62ln3xqg5rut` FOREIGN KEY (`create_user_id`) REFERENCES `e_upms_user` (`id`),
  CONSTRAINT `FKbamxcgymo8l8kscr09j1rt9rq` FOREIGN KEY (`update_user_id`) REFERENCES `e_upms_user` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_role_menu` (
  `role_id` bigint(20) NOT NULL,
  `menu_id` bigint(20) NOT NULL,
  PRIMARY KEY (`role_id`,`menu_id`),
  KEY `FK28yk0pjqayihnfokl31egaxwi` (`menu_id`),
  CONSTRAINT `FK28yk0pjqayihnfokl31egaxwi` FOREIGN KEY (`menu_id`) REFERENCES `e_upms_menu` (`id`),
  CONSTRAINT `FKat62w2rephabo3gv0fk9m7b4n` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_user` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `name` varchar(255) DEFAULT NULL,
  `account` varchar(255) DEFAULT NULL,
  `is_admin` bit(1) DEFAULT NULL,
  `status` bit(1) DEFAULT NULL,
  `create_time` datetime(6) DEFAULT NULL,
  `update_time` datetime(6) DEFAULT NULL,
  `email` varchar(255) DEFAULT NULL,
  `expire_date` datetime(6) DEFAULT NULL,
  `is_md5` bit(1) DEFAULT NULL,
  `password` varchar(255) DEFAULT NULL,
  `phone` varchar(255) DEFAULT NULL,
  `remark` varchar(2000) DEFAULT NULL,
  `reset_pwd_time` datetime(6) DEFAULT NULL,
  `white_ip` varchar(2000) DEFAULT NULL,
  `erupt_org_id` bigint(20) DEFAULT NULL,
  `erupt_post_id` bigint(20) DEFAULT NULL,
  `create_user_id` bigint(20) DEFAULT NULL,
  `update_user_id` bigint(20) DEFAULT NULL,
  `erupt_menu_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `FK42etxre501gc0f0cqqh6iqvvf` (`erupt_org_id`),
  KEY `FKp9a007i17vuclutqp71262387` (`erupt_post_id`),
  KEY `FK26qtg1ke5lybx50hatg591g1l` (`create_user_id`),
  KEY `FKbats8jidh6a5996n2j66wwnmh` (`update_user_id`),
  KEY `FKdg6tcksh70r1qad2w4490g4rt` (`erupt_menu_id`),
  CONSTRAINT `FK26qtg1ke5lybx50hatg591g1l` FOREIGN KEY (`create_user_id`) REFERENCES `e_upms_user` (`id`),
  CONSTRAINT `FK42etxre501gc0f0cqqh6iqvvf` FOREIGN KEY (`erupt_org_id`) REFERENCES `e_upms_org` (`id`),
  CONSTRAINT `FKbats8jidh6a5996n2j66wwnmh` FOREIGN KEY (`update_user_id`) REFERENCES `e_upms_user` (`id`),
  CONSTRAINT `FKdg6tcksh70r1qad2w4490g4rt` FOREIGN KEY (`erupt_menu_id`) REFERENCES `e_upms_menu` (`id`),
  CONSTRAINT `FKp9a007i17vuclutqp71262387` FOREIGN KEY (`erupt_post_id`) REFERENCES `e_upms_post` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_user_role` (
  `user_id` bigint(20) NOT NULL,
  `role_id` bigint(20) NOT NULL,
  PRIMARY KEY (`role_id`,`user_id`),
  KEY `FK2u7bg3r67237qi1k6cl4acjhy` (`user_id`),
  CONSTRAINT `FK2u7bg3r67237qi1k6cl4acjhy` FOREIGN KEY (`user_id`) REFERENCES `e_upms_user` (`id`),
  CONSTRAINT `FKcnm4ph9i5owm2d53d01xng3ln` FOREIGN KEY (`role_id`) REFERENCES `e_upms_role` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
