package main

import (
	"net"
	"net/http"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// objects is a server of the protocol of Amazon S3 with an empty bucket "dendro".
type objects struct {
	server *http.Server
	url    string
	env    []string // the variables that give clients the server
}

func startBucket() (*objects, error) {
	backend := s3mem.New()
	if err := backend.CreateBucket("dendro"); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &objects{server: &http.Server{Handler: gofakes3.New(backend).Server()}, url: "http://" + l.Addr().String()}
	b.env = []string{"AWS_ENDPOINT_URL=" + b.url, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key", "AWS_REGION=us-east-1"}
	go b.server.Serve(l)
	return b, nil
}

func (b *objects) stop() { b.server.Close() }
