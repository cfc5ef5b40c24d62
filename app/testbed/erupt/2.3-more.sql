-- What 2.3 has beside 2.0, as far as it is known: the second factor, tenants, and tables of other modules. Made by hand.
ALTER TABLE `e_upms_user` ADD COLUMN `mfa_enabled` bit(1) DEFAULT NULL, ADD COLUMN `mfa_secret` varchar(64) DEFAULT NULL,
  ADD COLUMN `mfa_recovery_codes` varchar(2000) DEFAULT NULL, ADD COLUMN `tenant_id` bigint(20) DEFAULT NULL;
ALTER TABLE `e_upms_menu` ADD COLUMN `open_way` varchar(64) DEFAULT NULL;
ALTER TABLE `e_cloud_node` ADD COLUMN `tenant_id` bigint(20) DEFAULT NULL;
CREATE TABLE `e_upms_sso` (`id` bigint(20) NOT NULL AUTO_INCREMENT, `code` varchar(64) DEFAULT NULL, `secret` varchar(255) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_upms_sso_user` (`id` bigint(20) NOT NULL AUTO_INCREMENT, `open_id` varchar(255) DEFAULT NULL, `erupt_user_id` bigint(20) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_record_comment` (`id` bigint(20) NOT NULL AUTO_INCREMENT, `erupt` varchar(255) DEFAULT NULL, `record_id` varchar(255) DEFAULT NULL, `content` text DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `e_ai_chat` (`id` bigint(20) NOT NULL AUTO_INCREMENT, `title` varchar(255) DEFAULT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
INSERT INTO `e_upms_user` (`id`, `account`, `name`, `is_admin`, `status`, `is_md5`, `password`, `encrypt_type`, `salt`, `reset_pwd_time`, `create_time`, `mfa_enabled`, `mfa_secret`, `mfa_recovery_codes`) VALUES
(20, 'factor', 'Second factor', b'0', b'1', b'1', 'f4d843e0f517b468b2b68988fb135c798c2423bd269da94d9ee150a22d9470b0bf7e6eff6b6184594481ed61c29bc92d17f7cd0f31a265f16940a2c0bd30a2e2', 'SHA512', 'e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5', '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', b'1', 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', '["e613a1369d1a3b11c119cbe05fe2dec7fb3d69531a950972d226749fba736911"]'),
(21, 'halfway', 'Began to enrol', b'0', b'1', b'1', 'caaa264589c4d66b27569b99241eba9f50e5715cce83284bfa2d74439b68b7cea7fd71f506abf8c23d38e2108958e8e7a35f3127189a737a217a583f9411316a', 'SHA512', 'f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6', '2026-07-20 09:00:00.118000', '2026-07-20 09:00:00.118000', b'1', NULL, NULL);
INSERT INTO `e_upms_user_role` (`user_id`, `role_id`) VALUES (20, 1);
INSERT INTO `e_upms_sso` (`id`, `code`, `secret`) VALUES (1, 'corp', 'of-corp');
INSERT INTO `e_record_comment` (`id`, `erupt`, `record_id`, `content`) VALUES (1, 'shop.Customer', '7', 'call again');
