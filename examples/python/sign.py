"""A backend in Python that asks the signer what a message is, has it signed for an account, and gets the proof of
its audit record.

    python -m venv .venv && .venv/bin/pip install -r examples/python/requirements.txt
    mkdir -p build && .venv/bin/python -m grpc_tools.protoc -I proto --python_out=build --grpc_python_out=build \
        proto/signer/v1/*.proto proto/common/v1/*.proto
    PYTHONPATH=build .venv/bin/python examples/python/sign.py --signer 127.0.0.1:5005 --ca ca.pem --cert cert.pem --key key.pem \
        --chain flow-emulator --message message.bin --token-file token.txt

`message.bin` is what Flow's client library hands a signer: the transaction's domain tag and RLP, such as the bytes whose hex
`POST /account/v1/messages` answers. `token.txt` is the access token of the user whose
account it is. Prints one JSON object; ends with 1 and the reason where the signer refuses.
"""

import argparse
import json
import sys
from pathlib import Path

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from signer.v1 import information_pb2, information_pb2_grpc, signing_pb2, signing_pb2_grpc

DEADLINE_SECONDS = 5
# The name in the signer's certificate; the address that is dialled may be another one.
SERVER_NAME = "signer.countersign.internal"


def read_arguments():
    parser = argparse.ArgumentParser()
    for name in ("signer", "ca", "cert", "key", "chain", "message", "token-file"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


def reason_of(error):
    """What docs/signing.md calls the refusal: the rule where there is one, else the reason of the answer; "" where nobody answered."""
    status = rpc_status.from_call(error)
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return info.metadata.get("reason", info.reason)
    return ""


def main():
    try:
        return ask(read_arguments())
    except grpc.RpcError as error:
        print(f"{error.code().name} {reason_of(error)}: {error.details()}", file=sys.stderr)
        return 1


def ask(arguments):
    credentials = grpc.ssl_channel_credentials(
        root_certificates=Path(arguments.ca).read_bytes(),
        private_key=Path(arguments.key).read_bytes(),
        certificate_chain=Path(arguments.cert).read_bytes(),
    )
    options = [("grpc.ssl_target_name_override", SERVER_NAME)]
    message = Path(arguments.message).read_bytes()
    # The token goes with each call, in the metadata: it says whose account is signed for.
    metadata = [("authorization", "Bearer " + Path(arguments.token_file).read_text().strip())]

    with grpc.secure_channel(arguments.signer, credentials, options) as channel:
        information = information_pb2_grpc.InformationStub(channel)
        keys = information.GetPublicKeys(
            information_pb2.GetPublicKeysRequest(chain_name=arguments.chain), timeout=DEADLINE_SECONDS
        )
        explained = information.Explain(
            information_pb2.ExplainRequest(chain_name=arguments.chain, message=message), timeout=DEADLINE_SECONDS
        )
        signed = signing_pb2_grpc.SigningStub(channel).SignTransaction(
            signing_pb2.SignTransactionRequest(message=message, chain_name=arguments.chain),
            metadata=metadata,
            timeout=DEADLINE_SECONDS,
        )

    print(
        json.dumps(
            {
                "kind": explained.kind,
                "address": signed.signature.address.hex(),
                "keyId": signed.signature.key_id,
                "signature": signed.signature.signature.hex(),
                "receipt": {
                    "chainId": signed.audit.chain_id,
                    "sequence": signed.audit.sequence,
                    "recordHash": signed.audit.record_hash.hex(),
                },
                "paymaster": keys.paymaster.bytes.hex(),
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
