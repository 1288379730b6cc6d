package server

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TryLater returns a status that tells the client to send the same again after a pause.
func TryLater(c codes.Code, message string, pause time.Duration) error {
	st := status.New(c, message)
	if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(pause)}); err == nil {
		st = with
	}
	return st.Err()
}

// RetryAfter returns the pause of an error of TryLater; 0: the error has none.
func RetryAfter(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}
