package main

import "github.com/dendroprof/dendro/test/peer"

// objects is a server of the protocol of Amazon S3 with an empty bucket "dendro".
type objects struct {
	*peer.Peer
	env []string // the variables that give clients the server
}

func startBucket() (*objects, error) {
	p, err := peer.Open("s3", "dendro")
	if err != nil {
		return nil, err
	}
	return &objects{p, []string{"AWS_ENDPOINT_URL=" + p.Ready, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=key",
		"AWS_REGION=us-east-1"}}, nil
}
