package web

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestReport reads the data of a page back, and looks for names that became markup.
func TestReport(t *testing.T) {
	const hostile = `</script><img src=x onerror=alert(1)><!--`
	body, err := json.Marshal(map[string]string{"name": hostile})
	if err != nil {
		t.Fatal(err)
	}
	r := Report{Title: hostile, Start: "/report", Answers: []Answer{{Path: "report", Body: body}}}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, hostile) || strings.Contains(page, "<img") {
		t.Error("a name became markup")
	}
	if !strings.Contains(page, "Content-Security-Policy") || !strings.Contains(page, "default-src 'none'") {
		t.Error("the page has no policy")
	}
	_, rest, _ := strings.Cut(page, `id="dendro-data">`)
	data, _, _ := strings.Cut(rest, "</script>")
	packed, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version int
		Answers []struct{ Body struct{ Name string } }
	}
	if err := json.NewDecoder(z).Decode(&got); err != nil || got.Version != 1 || got.Answers[0].Body.Name != hostile {
		t.Errorf("%+v, %v", got, err)
	}
}
