//go:build tools

// Package tools pins the servers of the local stack, so that go.sum verifies what is built.
package tools

import (
	_ "github.com/nats-io/nats-server/v2"
	_ "github.com/onflow/flow-emulator/cmd/emulator"
)
