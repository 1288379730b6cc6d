package bench

import (
	"bytes"
	"testing"

	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/dendroprof/dendro/format/otlp"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// BenchmarkReadersOTLP reads 1.9 million samples as protocol buffers. proto.Unmarshal
// fills the generated types and links nothing: it is the least that a reader over them
// would cost.
func BenchmarkReadersOTLP(b *testing.B) {
	var msg bytes.Buffer
	if err := otlp.Encode(&msg, jsonProfile(20_000, 1_900_000), -1); err != nil {
		b.Fatal(err)
	}
	d := otlp.NewDecoder()
	readtest.Measure(b, "reader=dendro", msg.Len(), func() error {
		_, err := d.Decode(bytes.NewReader(msg.Bytes()), nil, profile.Limits{})
		return err
	})
	readtest.Measure(b, "reader=proto-unmarshal", msg.Len(), func() error {
		return proto.Unmarshal(msg.Bytes(), new(profilespb.ProfilesData))
	})
}
