// The functions of OpenSSL that the client uses where there is no CryptoKit.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>

static inline void cs_sha256(const unsigned char *bytes, size_t length, unsigned char *digest) {
  EVP_Digest(bytes, length, digest, NULL, EVP_sha256(), NULL);
}

static inline EC_KEY *cs_new_key(unsigned char *publicKey) {
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  unsigned char point[65];
  if (key == NULL || EC_KEY_generate_key(key) != 1) return NULL;
  EC_POINT_point2oct(EC_KEY_get0_group(key), EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED, point, 65, NULL);
  for (int i = 0; i < 64; i++) publicKey[i] = point[i + 1];
  return key;
}

static inline int cs_sign(EC_KEY *key, const unsigned char *digest, unsigned char *signature) {
  ECDSA_SIG *made = ECDSA_do_sign(digest, 32, key);
  if (made == NULL) return 0;
  BN_bn2binpad(ECDSA_SIG_get0_r(made), signature, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(made), signature + 32, 32);
  ECDSA_SIG_free(made);
  return 1;
}

static inline int cs_verify(const unsigned char *publicKey, const unsigned char *digest, const unsigned char *signature) {
  EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  ECDSA_SIG *given = ECDSA_SIG_new();
  BIGNUM *x = BN_bin2bn(publicKey, 32, NULL), *y = BN_bin2bn(publicKey + 32, 32, NULL);
  ECDSA_SIG_set0(given, BN_bin2bn(signature, 32, NULL), BN_bin2bn(signature + 32, 32, NULL));
  int valid = EC_KEY_set_public_key_affine_coordinates(key, x, y) == 1 && ECDSA_do_verify(digest, 32, given, key) == 1;
  BN_free(x), BN_free(y), ECDSA_SIG_free(given), EC_KEY_free(key);
  return valid;
}
