// Command s3 is a server of the protocol of Amazon S3 with an empty bucket. It prints its address.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	backend := s3mem.New()
	if err := backend.CreateBucket(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	s := httptest.NewServer(gofakes3.New(backend).Server())
	fmt.Println(s.URL)
	io.Copy(io.Discard, os.Stdin)
}
