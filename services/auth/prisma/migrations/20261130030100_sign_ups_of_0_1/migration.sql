-- Sign-ups that version 0.1 began get the id of a session where a request may still continue or repeat them,
-- and lose control characters, which key and device refuse, also in `auth register-again`. The id is a UUIDv8
-- of the row's own columns, as text: on a database of several nodes a statement that changes rows has no
-- random values, and joins no uuid to a text. In the text of JSON a control character is an escape or, from
-- U+007F on, itself; an escaped backslash or quote stays.
UPDATE "sign_up" SET
  "session_id" = regexp_replace(encode(sha256(("account_id"::text || '/' || "chain_name")::bytea), 'hex'),
    '^(.{12}).(.{3}).(.{15}).*', '\18\28\3')::uuid,
  "app_name" = regexp_replace("app_name", '[\u0001-\u001f\u007f-\u009f]', '', 'g'),
  "device_attributes" = regexp_replace("device_attributes"::text,
    '(\\["\\])|\\[bfnrt]|\\u00[01][0-9a-f]|[\u007f-\u009f]', '\1', 'g')::jsonb
WHERE "session_id" IS NULL AND ("completed_at" IS NULL OR "completed_at" > now() - interval '2 days'
  OR "app_name" ~ '[\u0001-\u001f\u007f-\u009f]'
  OR "device_attributes"::text ~ '[\u007f-\u009f]|\\([bfnrt]|u00[01])');
