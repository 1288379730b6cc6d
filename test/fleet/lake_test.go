package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/dendroprof/dendro/store/duckdb/lake"
	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/test/peer"
	"github.com/dendroprof/dendro/test/postgres"
)

// handOver lets a worker hand the hours of a topic over to a lake with its catalog in PostgreSQL and
// its files in a bucket, kills it in the middle of that, and removes what the topic and the worker
// have: all answers stay those of one process that received the same.
func handOver(t *testing.T, kafka string) {
	p, err := postgres.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	url, err := p.Database(t.Context(), "hours")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": peer.Start(t, "s3", "dendro").Ready, "AWS_ACCESS_KEY_ID": "id",
		"AWS_SECRET_ACCESS_KEY": "key", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	caches := t.TempDir() // each process has its own, as on a machine of its own
	t.Setenv("XDG_CACHE_HOME", filepath.Join(caches, "test"))
	made, err := iceberg.Open(t.Context(), url, iceberg.Options{Create: true, Hours: true, Warehouse: "s3://dendro/lake"})
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	st, err := lake.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Reach(t.Context()); err != nil { // which opens the tables, while the variables are those of this process
		t.Fatal(err)
	}

	f := &fleet{t: t, topic: "kafka://" + kafka + "/hours", begin: time.Now().UTC().Truncate(time.Hour).Add(-5 * time.Hour),
		every: 20 * time.Minute}
	f.one = start(t, "one", "--continuous", "--continuous-keep-raw", "1h", "--continuous-max-age", "48h")
	f.gateways = []*process{start(t, "gateway", "--gateway", f.topic, "--kafka-partitions", "2")}
	const windows = 6 // of each service, in two hours
	f.pushAll(0, windows)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(caches, "worker"))
	worker := start(t, "worker", "--windows", f.topic, "--windows-session", "6s", "--windows-lake", url, "--continuous-keep-raw", "1h")
	f.eventually("the worker does not read the topic", func() bool { return f.holds(worker) == 2 })

	// A roll-up is made when a partition is opened. It waits for the catalog while its process is
	// killed.
	lock := func() pgx.Tx {
		database, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { database.Close(context.Background()) })
		locked, err := database.Begin(t.Context())
		if err == nil {
			_, err = locked.Exec(t.Context(), "LOCK TABLE iceberg_tables IN SHARE MODE")
		}
		if err != nil {
			t.Fatal(err)
		}
		return locked
	}
	locked := lock()
	waits := func() bool {
		var waiting int
		err := locked.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'").Scan(&waiting)
		return err == nil && waiting > 0
	}
	worker.Kill()
	worker.again()
	f.eventually("no hours are handed over", waits)
	if !testing.Short() { // a worker whose catalog is gone meanwhile tries again
		p.Crash()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		locked = lock()
		f.eventually("hours are not handed over again", waits)
	}
	worker.Kill()
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker.again()
	f.eventually("not all hours are handed over, or some twice", func() bool {
		answer, err := st.SQL(t.Context(), `SELECT sum(windows)::BIGINT, count(*) - (SELECT count(*) FROM (SELECT DISTINCT series, hour FROM series_hours))
			FROM series_hours`)
		if err != nil {
			return false // there is no hour yet
		}
		for row, err := range answer.Rows {
			return err == nil && fmt.Sprint(row) == fmt.Sprintf("[%d 0]", services*windows)
		}
		return false
	})

	removeRecords(t, kafka, "hours")
	worker.Kill()
	files, err := filepath.Glob(filepath.Join(worker.dir, "s.duckdb.partitions", "*.duckdb*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	f.one.Kill()
	f.one.again()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(caches, "reader"))
	f.reader = start(t, "reader", "--windows-from", "http://"+worker.address, "--windows-lake", url)
	f.equal("while no worker answers")
	worker.again()
	f.eventually("windows that nobody has are not missed", func() bool {
		missing := f.same("after the files of the worker are gone", "s3")
		return !strings.Contains(missing, "not answer") && strings.Contains(missing, " lack ")
	})
}

// removeRecords removes all records of a topic, as its retention does.
func removeRecords(t *testing.T, kafka, topic string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(t.Context(), topic)
	if err == nil {
		var removed kadm.DeleteRecordsResponses
		if removed, err = admin.DeleteRecords(t.Context(), ends.Offsets()); err == nil {
			err = removed.Error()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
