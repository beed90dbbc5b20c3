-- identity_email_hash has taken its place.
DROP INDEX CONCURRENTLY "identity_email";
