package profile

import "testing"

func TestJARVersion(t *testing.T) {
	for _, x := range []struct{ file, artifact, version string }{
		{"/m2/gson/2.13.1/gson-2.13.1.jar", "gson", "2.13.1"},
		{"commons-lang3-3.14.0.jar", "commons-lang3", "3.14.0"},
		{`C:\m2\guava-32.1-jre.jar`, "guava", "32.1-jre"},
		{"app.jar", "", ""},
		{"gson-2.13.1.jar.sha1", "", ""},
		{"", "", ""},
	} {
		artifact, version, ok := JARVersion(x.file)
		if artifact != x.artifact || version != x.version || ok != (x.version != "") {
			t.Errorf("%s: %q %q %v", x.file, artifact, version, ok)
		}
	}
}
