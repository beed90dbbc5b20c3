//go:build tools

// Package tools pins grpcurl, with which a test looks at the signer as another backend's people do.
package tools

import _ "github.com/fullstorydev/grpcurl/cmd/grpcurl"
