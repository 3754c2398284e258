"""A mail server for tests: aiosmtpd, with TLS and passwords as real ones have them.

It is started with how it does TLS (starttls, tls or plain), a certificate and its key.
The first line that it prints is its port, each other one a mail that it took.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Mailbox:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no such mailbox"
        if address.startswith("later@"):
            return "451 4.3.0 try again later"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(
            json.dumps(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "headers": {name.lower(): str(value) for name, value in message.items()},
                    "text": message.get_content(),
                    "authenticated": bool(session.authenticated),
                    "encrypted": mode == "tls" or session.ssl is not None,
                }
            ),
            flush=True,
        )
        return "250 2.0.0 taken"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"bee", b"hunter2"), handled=False)


mode, certificate, key = sys.argv[1:]
context = None
if mode != "plain":
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)


def connection():
    starttls = mode == "starttls"
    return SMTP(
        Mailbox(),
        hostname="localhost",
        tls_context=context if starttls else None,
        require_starttls=starttls,
        authenticator=authenticate,
        auth_required=mode != "plain",
        auth_require_tls=starttls,
    )


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0, ssl=context if mode == "tls" else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())
