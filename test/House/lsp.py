"""dash-lsp-server speaks with an editor: it starts, takes a document with a mistake, and says where
the mistake is."""

# RUN: %python %s

import json
import subprocess
import sys

DOCUMENT = "func.func @host() -> index {\n  return %missing : index\n}\n"


def message(method, params, **more):
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})
    return f"Content-Length: {len(body)}\r\n\r\n{body}"


session = "".join(
    [
        message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1),
        message(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": "test:///host.mlir",
                    "languageId": "mlir",
                    "version": 1,
                    "text": DOCUMENT,
                }
            },
        ),
        message("shutdown", None, id=2),
        message("exit", None),
    ]
)
result = subprocess.run(
    ["dash-lsp-server"], input=session, capture_output=True, text=True, check=False
)
for expected in ('"completionProvider"', "use of undeclared SSA value name", '"line":1'):
    if expected not in result.stdout.replace('": ', '":'):
        sys.exit(
            f"expected {expected} in the answers of dash-lsp-server,"
            f" found:\n{result.stdout}\n{result.stderr}"
        )
