-- Rows as an erupt 2.0 server and its admins leave them; the passwords are those of EruptUsers.
INSERT INTO `e_upms_org` (`id`, `code`, `name`, `sort`, `parent_org_id`) VALUES
(1, 'HQ', 'Head office', 1, NULL),
(2, 'D-01', 'Field', NULL, 1);
INSERT INTO `e_upms_post` (`id`, `code`, `name`, `weight`) VALUES
(1, 'ENG', 'Engineer', 10),
(2, 'OPS', 'Operator', NULL);
INSERT INTO `e_upms_menu` (`id`, `code`, `name`, `type`, `value`, `icon`, `sort`, `status`, `param`, `parent_menu_id`, `create_time`) VALUES
(201, 'aB3dE5gH', 'Customers', 'table', 'shop.Customer', '', 100, 1, NULL, NULL, '2026-07-20 09:00:00.118000'),
(202, 'bT0xY7wQ', 'ADD', 'button', 'shop.Customer@ADD', NULL, 10, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(203, 'bT1xY7wQ', 'EDIT', 'button', 'shop.Customer@EDIT', NULL, 20, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(204, 'bT2xY7wQ', 'DELETE', 'button', 'shop.Customer@DELETE', NULL, 30, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(205, 'bT3xY7wQ', 'EXPORT', 'button', 'shop.Customer@EXPORT', NULL, 40, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(206, 'bT4xY7wQ', 'IMPORTABLE', 'button', 'shop.Customer@IMPORTABLE', NULL, 50, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(207, 'bT5xY7wQ', 'VIEW_DETAIL', 'button', 'shop.Customer@VIEW_DETAIL', NULL, 60, 1, NULL, 201, '2026-07-20 09:00:00.118000'),
(208, 'cK9mN2pR', 'Old page', 'table', 'shop.Purchase', NULL, NULL, NULL, NULL, 1, NULL),
(209, 'dL4sV8zX', 'Closed page', 'table', 'shop.Secret', '', 110, 3, NULL, NULL, '2026-07-20 09:00:00.118000');
INSERT INTO `e_upms_user` (`id`, `account`, `name`, `is_admin`, `status`, `is_md5`, `password`, `reset_pwd_time`, `expire_date`, `white_ip`, `phone`, `email`, `remark`, `erupt_org_id`, `erupt_post_id`, `erupt_menu_id`, `create_time`, `update_time`, `create_user_id`, `update_user_id`, `encrypt_type`, `salt`, `avatar`) VALUES
(1, 'erupt', 'erupt', b'1', b'1', b'1', '851e91174309e14209e30ed0f75cb72a545f6e0e1b6f233a3f833ada1bad737be1a47932220dabb0651c1f0704652e8bb84868c8da4caa461cacae055e296228', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', NULL, NULL, 'SHA512', 'a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1', NULL),
(2, 'lin', 'Lin Yu', b'0', b'1', b'1', '33f4c4b096854d514817ef4476715e629dd349594e828092e25ad1e23bfbe5a040aa5969dd55555eea914f540ece4a9a51b91f29c7f269258cc7d621366d365e', '2026-07-20 09:00:00.118000', NULL, NULL, '+49 30 1', 'lin@example.org', NULL, 2, 1, 201, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, 'SHA512', 'b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2', NULL),
(3, 'plain', 'plain', NULL, b'1', b'0', 'plain-pass-1', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(4, 'nullflag', 'nullflag', b'0', b'1', NULL, 'null-pass-1', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(5, 'locked', 'locked', b'0', b'0', b'1', 'c139c92cf0fc09d74c03586a90ead008', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(6, 'nullstatus', 'nullstatus', b'0', NULL, b'1', '36f613539159f9509b5c6678954787e1', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(7, 'expired', 'expired', b'0', b'1', b'1', 'f4dd7de7207fce4e4d72bd3047381ab4', '2026-07-20 09:00:00.118000', '2026-01-01 00:00:00.000000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(8, 'fenced', 'fenced', b'0', b'1', b'1', '3cbee64485ab80a45c52deb73204b3cf', '2026-07-20 09:00:00.118000', NULL, '10.9.8.7\n10.9.9.0', NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(9, 'uppermd5', 'uppermd5', b'0', b'1', b'1', '10642C1E19A03F99556CC265C2866CE1', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(10, 'oldlin', 'Lin Yu', b'0', b'1', b'1', '0e4e2d1486e722af41e8bfef53156dfb', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, NULL, NULL, NULL),
(11, 'sha', 'sha', b'0', b'1', b'1', 'eeb7ce7fb98f2e4f3a5e5bfec31089ab641262182a96e37c1ac565ea2ecd3f38ca517ce110143b98ef5f85ffa4a9f8595c7591f10b99de2f4cb732f23b11c3eb', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, 'sha512', 'c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3', NULL),
(12, 'nosalt', 'nosalt', b'0', b'1', b'1', '14ed7838ee20cd66b2b6cdccc969159f0e5d8f41f8ca017e60827a20aef88e20253b08cc05ef02f1910e0a34d347376965b21b7f49e16a2fab9ce74790a5ae1b', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, 'SHA512', NULL, NULL),
(13, 'uppersha', 'uppersha', b'0', b'1', b'1', '634B573369A35682F9EA88FB3A143DE23C741729F1655F1D9CFCCD4113C619EE0925C458BE4670E6340C8CB5A295742A89B6E56EEDE9EE222C20AFC437B6DB2F', '2026-07-20 09:00:00.118000', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1, 'SHA512', 'd4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4', NULL);
INSERT INTO `e_upms_role` (`id`, `code`, `name`, `sort`, `status`, `create_time`, `update_time`, `create_user_id`, `update_user_id`) VALUES
(1, 'sales', 'Sales', 10, b'1', '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, 1),
(2, 'audit', 'Audit', 20, b'0', '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', 1, NULL),
(3, 'old', 'Old', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO `e_upms_role_menu` (`role_id`, `menu_id`) VALUES
(1, 1),
(1, 7),
(1, 11),
(1, 14),
(1, 201),
(1, 202),
(1, 203),
(1, 207),
(1, 208),
(1, 209),
(2, 37),
(3, 208);
INSERT INTO `e_upms_user_role` (`user_id`, `role_id`) VALUES
(2, 1),
(2, 2),
(3, 3),
(8, 1);
INSERT INTO `e_upms_user_org_head` (`id`, `head_org`) VALUES
(10, 1),
(10, 2);
INSERT INTO `e_upms_user_org_division` (`id`, `division_org`) VALUES
(10, 2);
INSERT INTO `e_cloud_node_group` (`id`, `code`, `name`, `config`, `remark`, `create_by`, `create_time`, `update_by`, `update_time`) VALUES
(1, 'retail', 'Retail', '{"region":"eu","text":"grün"}', 'shops', 'erupt', '2026-07-20 09:00:00.118000', 'erupt', '2026-07-20 09:00:00.118000'),
(2, 'wholesale', 'Wholesale', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO `e_cloud_node` (`id`, `node_name`, `name`, `status`, `duty`, `config`, `access_token`, `remark`, `cloud_node_group_id`, `create_by`, `create_time`, `update_by`, `update_time`) VALUES
(1, 'shop', 'Shop', b'1', '["erupt","lin"]', '{"limit": 5, "text": "grün €"}', '7H2KQ9ZX4M1CVB0P', 'sells', 1, 'erupt', '2026-07-20 09:00:00.118000', 'Lin Yu', '2026-07-20 09:00:00.118000'),
(2, 'bill', NULL, NULL, NULL, NULL, '0PQW8E3RT6YU1IOA', NULL, NULL, NULL, NULL, NULL, NULL),
(3, 'old.name', 'Old name', b'0', '', NULL, NULL, NULL, 2, 'erupt', '2026-07-20 09:00:00.118000', NULL, NULL);
INSERT INTO `e_dict` (`id`, `code`, `name`, `remark`, `create_by`, `create_time`) VALUES
(1, 'colour', 'Colour', NULL, 'erupt', '2026-07-20 09:00:00.118000');
INSERT INTO `e_dict_item` (`id`, `code`, `name`, `val`, `sort`, `remark`, `erupt_dict_id`, `create_by`, `create_time`) VALUES
(1, 'red', 'Red', '#f00', 1, NULL, 1, 'erupt', '2026-07-20 09:00:00.118000'),
(2, 'green', 'Green', NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO `e_open_api` (`id`, `appid`, `name`, `expire`, `erupt_user_id`, `status`, `secret`, `current_token`, `create_by`, `create_time`) VALUES
(1, 'Xa7Kd2mQ9zLp4RtB', 'Reports', 3600, 2, b'1', 'S3cr3tOfReports0123456789abcdef00', NULL, 'erupt', '2026-07-20 09:00:00.118000'),
(2, 'offline00000000A', 'Switched off', NULL, 2, b'0', 'S3cr3tOfNobody00123456789abcdef0', NULL, NULL, NULL);
INSERT INTO `e_upms_login_log` (`id`, `user_name`, `login_time`, `ip`, `region`, `system_name`, `browser`, `device_type`, `token`) VALUES
(1, 'erupt', '2026-07-20 09:05:00.000000', '10.0.0.1', NULL, 'Windows 10', 'Chrome 126', 'PC', 'aZ3kQ8mN1pL7xV2c'),
(2, 'Lin Yu', '2026-07-20 10:05:00.250000', '10.0.0.2', '', 'Mac', 'Safari', 'PC', 'bY4jR9nM2qK8wU3d');
INSERT INTO `e_upms_operate_log` (`id`, `operate_user`, `ip`, `region`, `api_name`, `req_param`, `status`, `error_info`, `total_time`, `create_time`, `req_addr`, `req_method`, `before_data`) VALUES
(1, 'erupt', '10.0.0.1', NULL, 'INSERT | Node Config', '{"nodeName":"shop"}', b'1', NULL, 31, '2026-07-20 09:00:00.118000', 'http://erupt.example:8080/erupt-api/data/modify/CloudNode', 'POST', NULL),
(2, 'Lin Yu', '10.0.0.2', NULL, 'UPDATE | Customers', '{"id":7}', b'0', 'java.lang.Exception: refused', NULL, '2026-07-20 09:00:00.118000', 'http://erupt.example:8080/erupt-api/data/modify/shop.Customer/update', 'POST', '{"id":7}');
-- A table of another application in the same database.
CREATE TABLE `zz_orders` (`id` bigint(20) NOT NULL AUTO_INCREMENT, `note` varchar(255) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `zz_orders` (`id`, `note`) VALUES
(1, 'not ours');
