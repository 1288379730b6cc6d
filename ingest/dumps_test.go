package ingest

import "testing"

func TestFromDumpPath(t *testing.T) {
	for _, tt := range []struct{ file, group, benchmark, count string }{
		{"dumps/shop-1.txt", "dumps", "shop", "1"},
		{"dumps/shop-12.tdump", "dumps", "shop", "12"},
		{"dumps/shop_3.txt.gz", "dumps", "shop", "3"},
		{"dumps/jstack.20261126-004143.txt", "dumps", "jstack", ""},
		{"dumps/threads-2026-11-26T00_41_43.txt", "dumps", "threads", ""},
		{"dumps/javacore.20261121.135703.4711.0001.txt", "dumps", "javacore.4711", "0001"},
		{"dumps/tdump_14711_2.txt", "dumps", "tdump_14711", "2"},
		{"dumps/tdump_14711.txt", "dumps", "tdump_14711", ""},
		{"shop/dumps/003.txt", "shop", "dumps", "003"},
		{"shop/2026-11-26T00:41:43.txt", "", "shop", ""},
		{"a.zip: shop/x-2.txt", "shop", "x", "2"},
		{"one.txt", "", "one", ""},
	} {
		l := fromDumpPath(tt.file)
		_, count := dumpName(slashed(tt.file))
		if l.Group != tt.group || l.Benchmark != tt.benchmark || count != tt.count || l.Run.Key != "" {
			t.Errorf("%s: group %q, benchmark %q, count %q, run %q; want %q, %q, %q", tt.file, l.Group, l.Benchmark, count, l.Run.Key, tt.group, tt.benchmark, tt.count)
		}
	}
}
