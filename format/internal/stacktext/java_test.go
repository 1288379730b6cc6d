package stacktext

import (
	"fmt"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

func TestParseJavaFrame(t *testing.T) {
	for _, c := range []struct{ text, name, module, file string }{
		{"shop.demo.Stuck.work(Stuck.java:15)", "shop.demo.Stuck.work", "", "Stuck.java:15"},
		{"java.lang.Thread.sleep(java.base@17.0.15/Native Method)", "java.lang.Thread.sleep", "java.base", ":0 native"},
		{"java.lang.Thread.run(java.base@17/Thread.java:840)", "java.lang.Thread.run", "java.base", "Thread.java:840"},
		{"java.base/java.lang.Thread.run(Thread.java:1474)", "java.lang.Thread.run", "java.base", "Thread.java:1474"},
		{"shop.mod@1.2/shop.A.b(A.java:1)", "shop.A.b", "shop.mod", "A.java:1"},
		{"app//shop.A.b(A.java:1)", "shop.A.b", "", "A.java:1"},
		{"app/shop.mod@1/shop.A.b(A.java:1)", "shop.A.b", "shop.mod", "A.java:1"},
		{"shop.A$$Lambda/0x000000003c040210.run(Unknown Source)", "shop.A$$Lambda/0x000000003c040210.run", "", ":0"},
		{"java.base/java.lang.A$$Lambda/0x000000003c040210.run(Unknown Source)", "java.lang.A$$Lambda/0x000000003c040210.run", "java.base", ":0"},
		{"shop.A$$Lambda$1/1234567.run(Unknown Source)", "shop.A$$Lambda$1/1234567.run", "", ":0"},
		{"Script.call(app/models/a.rb:3)", "Script.call", "", "app/models/a.rb:3"},
		{"Main.main(Main.java:Unknown line)", "Main.main", "", "Main.java:0"},
		{"Main.sleep(Main.java:Native method)", "Main.sleep", "", "Main.java:0 native"},
		{"GeneratedAccessor7.invoke(<Unknown Source>:Unknown line)", "GeneratedAccessor7.invoke", "", ":0"},
		{"Main.main(Main.java)", "Main.main", "", "Main.java:0"},
		{"a.B.feature (1) works(B.groovy:3)", "a.B.feature (1) works", "", "B.groovy:3"},
	} {
		f, ok := ParseJavaFrame([]byte(c.text))
		file := fmt.Sprintf("%s:%d", f.Function.File, f.Line)
		if f.Mode != profile.FrameUnknown {
			file += " " + f.Mode.String()
		}
		if !ok || f.Function.Name != c.name || f.Function.Module != c.module || file != c.file {
			t.Errorf("%s: %v %q %q %q", c.text, ok, f.Function.Name, f.Function.Module, file)
		}
	}
	for _, text := range []string{"", "(A.java:1)", "a.b.C.d", "a.b.C.d(", ")("} {
		if f, ok := ParseJavaFrame([]byte(text)); ok {
			t.Errorf("%q is a frame: %+v", text, f)
		}
	}
}
