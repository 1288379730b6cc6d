package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// outline is the category tree, one category a line, indented by its depth. A
// number after the name is the tax basis.
const outline = `shop 1900
 office
  paper
   notebooks
   envelopes
  furniture
   desks
   chairs
  writing
   pencils
   markers
 kitchen
  cookware
   pans
   knives
  tableware
   plates
   glasses
  pantry 700
   coffee
   tea
   spices
 garden
  tools
   spades
   hoses
  plants 700
   seeds
   bulbs
 media 700
  books
   novels
   atlases
  music
   records
   scores`

var (
	materials = strings.Fields("oak maple steel copper cotton linen glass paper bamboo recycled organic enamel cast brushed woven")
	styles    = strings.Fields("classic modern compact travel folding large small heavy light refurbished limited everyday studio outdoor double")
	sizes     = strings.Fields("XS S M L XL XXL")
	prose     = strings.Fields(`made by hand in small batches and finished with natural oil
		designed for daily use at home or in the studio durable edges hold their shape
		after years of washing comes with a five year warranty and spare parts packed in
		plain card without plastic suitable for beginners and professionals alike easily
		cleaned with warm water stored flat when folded tested for safety sourced from
		certified growers shipping within two days gift wrapping available on request`)
)

// Generate returns a catalog of n products. The same seed gives the same
// products.
func Generate(seed uint64, n int) *Catalog {
	rnd := rand.New(rand.NewPCG(seed, 1))
	c := &Catalog{Root: parseOutline(outline), bySKU: make(map[string]*Product, n)}
	leaves := c.Leaves()
	for i := range n {
		p := product(rnd, leaves[rnd.IntN(len(leaves))], i)
		c.Products = append(c.Products, p)
		c.bySKU[p.SKU] = p
	}
	return c
}

func parseOutline(text string) *Category {
	var open []*Category // the path to the latest category
	for line := range strings.Lines(text) {
		name := strings.TrimLeft(line, " ")
		c := &Category{}
		// A line without a tax basis leaves it at 0.
		_, _ = fmt.Sscan(name, &c.Name, &c.TaxBasis)
		depth := len(line) - len(name)
		if depth > 0 {
			c.Parent = open[depth-1]
			c.Parent.Children = append(c.Parent.Children, c)
		}
		open = append(open[:depth], c)
	}
	return open[0]
}

func product(rnd *rand.Rand, cat *Category, i int) *Product {
	material, style := pick(rnd, materials), pick(rnd, styles)
	words := make([]string, 20+rnd.IntN(40))
	for j := range words {
		words[j] = pick(rnd, prose)
	}
	return &Product{
		SKU:      fmt.Sprintf("%s-%05d-%s", strings.ToUpper(cat.Name[:3]), i, pick(rnd, sizes)),
		Name:     fmt.Sprintf("%s %s %s, pack of %d", style, material, cat.Name, 1+rnd.IntN(12)),
		Text:     strings.Join(words, " "),
		Tags:     []string{material, style, cat.Name},
		Category: cat,
		Cents:    199 + rnd.Int64N(20000),
	}
}

func pick(rnd *rand.Rand, from []string) string { return from[rnd.IntN(len(from))] }
