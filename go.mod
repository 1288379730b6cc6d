module github.com/dendroprof/dendro

go 1.26.0

// Each direct dependency has the reason for it above its line; a test demands it.

require (
	// With azidentity and azblob: Azure Blob Storage, whose protocol and credentials are its own. They are 2.7 of 128 MB; a client
	// by hand would be signatures, block lists and three ways to get a token (service principal, managed identity, az login).
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.23.1
	// See azcore.
	github.com/Azure/azure-sdk-for-go/sdk/azidentity v1.14.1
	// See azcore.
	github.com/Azure/azure-sdk-for-go/sdk/storage/azblob v1.8.0
	// Arrow's IPC format (arrow/ipc), of dendro sql -o arrow. Its Parquet writer adds 14 of 128 MB, and writes no Go structs.
	github.com/apache/arrow-go/v18 v18.8.0
	// Manifests, schemas and partitions of Iceberg (root package; why not its tables: store/iceberg/DESIGN.md).
	github.com/apache/iceberg-go v0.7.0
	// The storage engine: one file, columns, transactions, SQL. The chunk interface, because database/sql moves one value at a time. More than half of the binary.
	github.com/duckdb/duckdb-go-bindings v0.10505.0
	// Readable differences in tests.
	github.com/google/go-cmp v0.7.0
	// Pprof's formats before protocol buffers (profile); the oracle of the tests.
	github.com/google/pprof v0.0.0-20261016150608-1facf8f91b50
	// Random names of Iceberg's metadata, ids of commands for agents; iceberg-go needs it too.
	github.com/google/uuid v1.6.0
	// Names of C++ and Rust, as pprof prints them.
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724
	// PostgreSQL, the catalog of a lake of several machines; pure Go, through database/sql.
	github.com/jackc/pgx/v5 v5.9.2
	// Zstd, gzip at several times the speed of compress/gzip, the negotiation of compressed answers (gzhttp).
	github.com/klauspost/compress v1.20.3
	// S3's signatures and multipart uploads, also for Google's XML API (why not gocloud.dev: internal/bucket).
	github.com/minio/minio-go/v7 v7.4.1
	// The Model Context Protocol's own.
	github.com/modelcontextprotocol/go-sdk v1.8.0
	// Neo4j's own: Bolt, routing, retries, bookmarks.
	github.com/neo4j/neo4j-go-driver/v6 v6.0.0
	// Parquet of Go structs in row groups of bounded size, from any store (DuckDB's writer needs the rows in a DuckDB first); Bloom filters.
	github.com/parquet-go/parquet-go v0.32.0
	// Lz4 frames, which klauspost/compress does not have.
	github.com/pierrec/lz4/v4 v4.1.33
	// Counters, histograms and their text form.
	github.com/prometheus/client_golang v1.25.0
	// Tests read counters as client_golang collects them.
	github.com/prometheus/client_model v0.6.3
	// Testscript: command lines, files and outputs in one text.
	github.com/rogpeppe/go-internal v1.16.0
	// Commands, help, completion of four shells.
	github.com/spf13/cobra v1.10.2
	// Cobra's flags.
	github.com/spf13/pflag v1.0.10
	// Kafka's protocol and consumer groups; complete, pure Go.
	github.com/twmb/franz-go v1.22.2
	// Topics and offsets of Kafka.
	github.com/twmb/franz-go/pkg/kadm v1.19.0
	// Parser and validator of GraphQL. What runs documents is our own (graphql/exec): generated code of gqlgen was 21,000 lines and slower.
	github.com/vektah/gqlparser/v2 v2.5.30
	// Xz; refuses a window larger than it is told before it allocates, where ulikunitz/xz takes what the file asks for. The format is final, and so is the port.
	github.com/xi2/xz v0.0.0-20171230120015-48954b6210f8
	// Defines content hashes and ids.
	github.com/zeebo/xxh3 v1.1.0
	// Basic.yml in SkyWalking's trace archives.
	go.yaml.in/yaml/v3 v3.0.5
	// The Go project's parser of execution traces (trace), for every version since Go 1.11.
	golang.org/x/exp v0.0.0-20260603202125-055de637280b
	// Http2 of tests: the frames that an attacker sends.
	golang.org/x/net v0.61.0
	// Google's application default credentials.
	golang.org/x/oauth2 v0.37.0
	// Errgroup.
	golang.org/x/sync v0.24.0
	// Is this a terminal, and how wide.
	golang.org/x/term v0.47.0
	// RetryInfo: how gRPC tells a client when to try again. Part of gRPC already.
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260819154853-08b0e4226688
	// The protocol of SkyWalking's agents.
	google.golang.org/grpc v1.85.0
	// All messages except snapshots, which internal/wire reads without copies.
	google.golang.org/protobuf v1.36.12
	// The catalog of a lake, which Spark reads too; without cgo.
	modernc.org/sqlite v1.61.1
	// Property tests with small counterexamples.
	pgregory.net/rapid v1.3.0
	// SkyWalking's own messages and services of agents, and types of its queries.
	skywalking.apache.org/repo/goapi v0.0.0-20260521015734-5c05525a3cce
)

require (
	cloud.google.com/go/compute/metadata v0.9.0 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.12.0 // indirect
	github.com/AzureAD/microsoft-authentication-library-for-go v1.8.0 // indirect
	github.com/agnivade/levenshtein v1.2.1 // indirect
	github.com/andybalholm/brotli v1.2.3 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/duckdb/duckdb-go-bindings/lib/darwin-amd64 v0.10505.0 // indirect
	github.com/duckdb/duckdb-go-bindings/lib/darwin-arm64 v0.10505.0 // indirect
	github.com/duckdb/duckdb-go-bindings/lib/linux-amd64 v0.10505.0 // indirect
	github.com/duckdb/duckdb-go-bindings/lib/linux-arm64 v0.10505.0 // indirect
	github.com/duckdb/duckdb-go-bindings/lib/windows-amd64 v0.10505.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/geoarrow/geoarrow-go v0.0.0-20260403143023-f54751c3e3a1 // indirect
	github.com/goccy/go-json v0.10.6 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/pkg/browser v0.0.0-20240102092130-5ac0b6a4141c // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/stretchr/objx v0.5.3 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/twmb/avro v1.8.0 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.15.0 // indirect
	github.com/twmb/murmur3 v1.1.8 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	// Limits of memory of the git program, processor time of threads; gRPC needs it too.
	golang.org/x/sys v0.49.0
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	gopkg.in/ini.v1 v1.67.3 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
