"""Uses the Python client that openapi-python-client has generated; clients.test.ts checks what it prints."""

import json
import os

from countersign_client import AuthenticatedClient, Client
from countersign_client.api.account import get_me
from countersign_client.api.auth import issue_challenge, sign_up
from countersign_client.api.devices import get_two_factor, list_devices, list_keys
from countersign_client.models import (
    KeyChallengeRequest,
    LoginMethod,
    LoginOnChain,
    NewDevice,
    NewUserKey,
    Problem,
    SignUpRequest,
)

gateway, later_gateway, token, public_key, chain = (
    os.environ[name] for name in ("GATEWAY", "LATER_GATEWAY", "LOGIN_TOKEN", "PUBLIC_KEY", "CHAIN_NAME")
)
login = {"method": LoginMethod.ID_TOKEN_CHANNEL, "token": token, "chain_name": chain}
device = NewDevice(name="Python")
user_key = NewUserKey(type_="device", public_key=public_key, device=device)

client = Client(base_url=gateway, timeout=30)
signed_in = sign_up.sync(client=client, body=SignUpRequest(user_key=user_key, **login))
challenge = issue_challenge.sync(
    client=client,
    body=KeyChallengeRequest(
        challenge_type="deviceKey", request=LoginOnChain(**login), public_key=public_key
    ),
)



def read(gateway):
    """Reads with the session's token; what a newer gateway answers too."""
    session = AuthenticatedClient(base_url=gateway, token=signed_in.credentials.access_token, timeout=30)
    me = get_me.sync(client=session)
    devices = list_devices.sync(client=session).devices
    keys = list_keys.sync(client=session).keys
    missing = get_two_factor.sync_detailed(client=session, id="019a0000-0000-7000-8000-000000000001")
    assert isinstance(missing.parsed, Problem)
    return {
        "sameAccount": me.account.id == signed_in.account.id,
        "chainTypes": [each.chain_type for each in me.account.addresses],
        "devices": [[each.public_key, each.algorithm, each.type_] for each in devices],
        "keys": [[each.public_key, each.type_, each.user_key.type_] for each in keys],
        "error": missing.parsed.error,
        "status": int(missing.status_code),
    }


story = {"challengeDigits": len(challenge.challenge_data)}
print(json.dumps({**story, "now": read(gateway), "later": read(later_gateway)}))
