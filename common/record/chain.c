/* SHA-256 with the algorithm fetched once: an implicit fetch a line would cost as much as the hash. */
#include "common/record/chain.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

int chain_init(struct chain *c)
{
        *c = (struct chain) { .hash = EVP_MD_CTX_new(), .sha256 = EVP_MD_fetch(NULL, "SHA256", NULL) };
        memcpy(c->h, CHAIN_FIRST, CHAIN_TEXT);
        if (c->hash && c->sha256)
                return 0;
        chain_done(c);
        return -ENOMEM;
}

void chain_done(struct chain *c)
{
        EVP_MD_CTX_free(c->hash);
        EVP_MD_free(c->sha256);
        c->hash = NULL;
        c->sha256 = NULL;
}

int chain_next(struct chain *c, const void *line, size_t len)
{
        static const char digits[] = "0123456789abcdef";
        unsigned char d[EVP_MAX_MD_SIZE];

        if (EVP_DigestInit_ex2(c->hash, c->sha256, NULL) != 1 ||
            EVP_DigestUpdate(c->hash, c->h, CHAIN_TEXT - 1) != 1 ||
            EVP_DigestUpdate(c->hash, line, len) != 1 || EVP_DigestFinal_ex(c->hash, d, NULL) != 1)
                return -ENOMEM;
        for (size_t i = 0; i < (CHAIN_TEXT - 1) / 2; i++) {
                c->h[2 * i] = digits[d[i] >> 4];
                c->h[2 * i + 1] = digits[d[i] & 15];
        }
        return 0;
}
