-- CreateTable
CREATE TABLE "identity_key" (
    "kid" TEXT NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "encrypted_private" BYTEA NOT NULL,
    "signs_from" TIMESTAMPTZ(3) NOT NULL,
    "signs_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "identity_key_pkey" PRIMARY KEY ("kid")
);
