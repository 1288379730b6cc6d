package threaddump_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/dendroprof/dendro/format/threaddump"
	"github.com/dendroprof/dendro/profile"
)

func ExampleDecoder() {
	const dump = `2026-11-20 23:24:18
Full thread dump OpenJDK 64-Bit Server VM (25.0.3+9-LTS mixed mode):

"pricing-1" #22 [7] daemon cpu=0.08ms tid=0x00007f09 nid=7 waiting for monitor entry  [0x00007f09]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at shop.Prices.look(Prices.java:15)
	- waiting to lock <0x000000069ec1f888> (a shop.Prices)

`
	p, err := threaddump.NewDecoder().Decode(strings.NewReader(dump), nil, profile.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	s := p.Tables[0]
	fmt.Println(p.Threads[s.Thread[0]].Name, p.States[s.State[0]], p.Start)
	for _, l := range p.LabelSets[s.Labels[0]] {
		fmt.Println(l.Key, l.Text)
	}
	// Output:
	// pricing-1 BLOCKED 2026-11-20 23:24:18 +0000 UTC
	// daemon true
	// wait on object monitor
	// lock shop.Prices@0x000000069ec1f888
}
