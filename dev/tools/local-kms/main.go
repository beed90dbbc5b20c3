// Local-kms runs Local KMS, a third-party implementation of the interface of AWS KMS, on a free port of
// loopback: its own program listens on all interfaces. Its argument is a directory for keys. It prints its
// address.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	kms "github.com/nsmithuk/local-kms/src"
	"github.com/nsmithuk/local-kms/src/config"
	"github.com/nsmithuk/local-kms/src/data"
)

func main() {
	config.AWSRegion = "eu-central-1"
	config.AWSAccountId = "111122223333"
	keys := data.NewDatabase(os.Args[1])
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		kms.HandleRequest(answer, request, keys)
	})))
}
