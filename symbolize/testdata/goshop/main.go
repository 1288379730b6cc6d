// Shop prices orders; a test asks which functions its addresses belong to.
package main

import "fmt"

func twice(x int) int { return 2*x + 1 }

//go:noinline
func price(n int) (sum int) {
	for i := range n {
		sum += twice(i) ^ sum>>1
	}
	return sum
}

func main() { fmt.Println(price(1000)) }
