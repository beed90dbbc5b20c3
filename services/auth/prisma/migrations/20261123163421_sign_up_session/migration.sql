-- The session that a sign-up opens, so that a repeated request opens no second one.
ALTER TABLE "sign_up" ADD COLUMN "session_id" UUID;
