package baseline
import ("testing";"github.com/dendroprof/dendro/test/bench";"github.com/dendroprof/dendro/test/bench/suite")
func TestImp(t *testing.T){
 s:=suite.New(suite.Config{})
 var batch []bench.Profile
 for i:=0;i<40;i++{ x,_:=s.AppendFolded(nil,i); batch=append(batch,bench.Profile{Meta:s.Meta(i),Text:x})}
 e,_:=OpenDuckDB(bench.Options{Dir:t.TempDir(),Workers:1,Names:suite.Stable})
 for k:=0;k<6;k++{ e.Import(batch)}
 e.Finish(); e.Close()
}
