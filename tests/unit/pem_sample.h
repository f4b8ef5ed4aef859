/* Certificates for tests, made once with openssl for a key that is kept nowhere. */
#pragma once

#include <stdint.h>

/* Until 2021-01-31, 2046-01-28 (as UTCTime) and 2126-11-05 (as GeneralizedTime). */
#define PEM_ENDED_UNTIL INT64_C(1612094400)
#define PEM_GOOD_UNTIL  INT64_C(2400784958)
#define PEM_LONG_UNTIL  INT64_C(4949584959)

static const char pem_ended[] = "-----BEGIN CERTIFICATE-----\n"
                                "MIIBHTCBxAIUWhqfDJUxhe5ariqsYsxPgNuhpKYwCgYIKoZIzj0EAwIwEjEQMA4G\n"
                                "A1UEAwwHdGVzdCBDQTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMzExMjAwMDBaMBEx\n"
                                "DzANBgNVBAMMBmNsaWVudDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMcMGeVt\n"
                                "3BhNa9hQuIxPWbWoh11XWCPz0/3lKRJXd1doMv9gn+ICO8u+F1cK7c1zaS0c6HTb\n"
                                "OI4TIIoYnesVdj4wCgYIKoZIzj0EAwIDSAAwRQIgctbVneDELWwpb2rS9e/zSxZm\n"
                                "lN95mcYm8OaWEgUc1WwCIQDq7+dmWUOXzKT55W7tYhLbIAfOSpYx1Gw1V2Nd0RQ+\n"
                                "1Q==\n"
                                "-----END CERTIFICATE-----\n";

static const char pem_good[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBHTCBxAIUOHLNouseJl3fahe96Ed0RCk5kB0wCgYIKoZIzj0EAwIwEjEQMA4G\n"
                               "A1UEAwwHdGVzdCBDQTAeFw0yNjExMjkyMDQyMzhaFw00NjAxMjgyMDQyMzhaMBEx\n"
                               "DzANBgNVBAMMBmNsaWVudDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMcMGeVt\n"
                               "3BhNa9hQuIxPWbWoh11XWCPz0/3lKRJXd1doMv9gn+ICO8u+F1cK7c1zaS0c6HTb\n"
                               "OI4TIIoYnesVdj4wCgYIKoZIzj0EAwIDSAAwRQIgdEynSDGlr3jtpsf8rpFTq+Vq\n"
                               "g6GXBfICT3nDnJjaEOMCIQCzYUsYZSttasp26Xnnr6eZ/PL3TJeD9VGh/qqzjfNt\n"
                               "zQ==\n"
                               "-----END CERTIFICATE-----\n";

static const char pem_long[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBHzCBxgIUOHLNouseJl3fahe96Ed0RCk5kB4wCgYIKoZIzj0EAwIwEjEQMA4G\n"
                               "A1UEAwwHdGVzdCBDQTAgFw0yNjExMjkyMDQyMzlaGA8yMTI2MTEwNTIwNDIzOVow\n"
                               "ETEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExwwZ\n"
                               "5W3cGE1r2FC4jE9ZtaiHXVdYI/PT/eUpEld3V2gy/2Cf4gI7y74XVwrtzXNpLRzo\n"
                               "dNs4jhMgihid6xV2PjAKBggqhkjOPQQDAgNIADBFAiEA+A2Jh7XXX+PKsDldOlIr\n"
                               "za8khespGCZ8p8KeLmhnRzkCIGOnTG7tO23plqpiz69eC7sZsR+zCeP9QAQ2i43U\n"
                               "N4WN\n"
                               "-----END CERTIFICATE-----\n";

static const char pem_key[] = "-----BEGIN PRIVATE KEY-----\n"
                              "bm90IGEga2V5\n"
                              "-----END PRIVATE KEY-----\n";
