-- Roles and databases of the five services, for Postgres 15 or newer, run once as a superuser:
--
--   psql --set=ON_ERROR_STOP=1 --file=deploy/postgres/roles.sql
--
-- `<name>_owner` owns the schema: only the migrations' job connects as it. `<name>` is the service: the job
-- grants it the rows of every table. Set the passwords afterwards: ALTER ROLE … PASSWORD '…'.
-- The check ends the statement of a client that is gone, such as a killed migration, and with it its locks.

CREATE ROLE countersign_auth_owner LOGIN;
CREATE ROLE countersign_auth LOGIN;
CREATE DATABASE countersign_auth OWNER countersign_auth_owner;
ALTER DATABASE countersign_auth SET client_connection_check_interval = '2s';
REVOKE ALL ON DATABASE countersign_auth FROM PUBLIC;
GRANT CONNECT ON DATABASE countersign_auth TO countersign_auth;

CREATE ROLE countersign_device_owner LOGIN;
CREATE ROLE countersign_device LOGIN;
CREATE DATABASE countersign_device OWNER countersign_device_owner;
ALTER DATABASE countersign_device SET client_connection_check_interval = '2s';
REVOKE ALL ON DATABASE countersign_device FROM PUBLIC;
GRANT CONNECT ON DATABASE countersign_device TO countersign_device;

CREATE ROLE countersign_key_owner LOGIN;
CREATE ROLE countersign_key LOGIN;
CREATE DATABASE countersign_key OWNER countersign_key_owner;
ALTER DATABASE countersign_key SET client_connection_check_interval = '2s';
REVOKE ALL ON DATABASE countersign_key FROM PUBLIC;
GRANT CONNECT ON DATABASE countersign_key TO countersign_key;

CREATE ROLE countersign_account_owner LOGIN;
CREATE ROLE countersign_account LOGIN;
CREATE DATABASE countersign_account OWNER countersign_account_owner;
ALTER DATABASE countersign_account SET client_connection_check_interval = '2s';
REVOKE ALL ON DATABASE countersign_account FROM PUBLIC;
GRANT CONNECT ON DATABASE countersign_account TO countersign_account;

CREATE ROLE countersign_signer_owner LOGIN;
CREATE ROLE countersign_signer LOGIN;
CREATE DATABASE countersign_signer OWNER countersign_signer_owner;
ALTER DATABASE countersign_signer SET client_connection_check_interval = '2s';
REVOKE ALL ON DATABASE countersign_signer FROM PUBLIC;
GRANT CONNECT ON DATABASE countersign_signer TO countersign_signer;
