// Package catalog holds the products of the demo shop and the tree of
// categories they hang from.
package catalog

import "strings"

// Category is a node of the category tree.
type Category struct {
	Name     string
	Parent   *Category
	Children []*Category
	// TaxBasis is the tax in hundredths of a percent; 0 inherits the parent's.
	TaxBasis int64
}

// Visitor is called for a category and its depth below the root of a walk.
type Visitor func(c *Category, depth int)

// Walk visits c and everything below it, parents first.
func (c *Category) Walk(visit Visitor) { c.walk(visit, 0) }

func (c *Category) walk(visit Visitor, depth int) {
	visit(c, depth)
	for _, child := range c.Children {
		child.walk(visit, depth+1)
	}
}

// Find returns the first category below c (or c itself) that has the name.
func (c *Category) Find(name string) *Category {
	if c.Name == name {
		return c
	}
	for _, child := range c.Children {
		if found := child.Find(name); found != nil {
			return found
		}
	}
	return nil
}

// Under reports whether c is other or lies below it.
func (c *Category) Under(other *Category) bool {
	if c == nil {
		return false
	}
	return c == other || c.Parent.Under(other)
}

// Tax returns the tax basis that holds for c, its own or the nearest one above.
func (c *Category) Tax() int64 {
	if c.TaxBasis != 0 || c.Parent == nil {
		return c.TaxBasis
	}
	return c.Parent.Tax()
}

// Path returns the names from the root to c.
func (c *Category) Path() []string {
	if c.Parent == nil {
		return []string{c.Name}
	}
	return append(c.Parent.Path(), c.Name)
}

// Breadcrumb returns the path as one line of text.
func (c *Category) Breadcrumb() string { return strings.Join(c.Path(), " / ") }

// Product is one article of the shop.
type Product struct {
	SKU      string
	Name     string
	Text     string
	Tags     []string
	Category *Category
	Cents    int64
}

// Catalog is the set of products with an index by SKU.
type Catalog struct {
	Root     *Category
	Products []*Product
	bySKU    map[string]*Product
}

// Lookup returns the product with the SKU, or nil.
func (c *Catalog) Lookup(sku string) *Product { return c.bySKU[sku] }

// Leaves returns the categories that have no children, in tree order.
func (c *Catalog) Leaves() []*Category {
	var leaves []*Category
	c.Root.Walk(func(cat *Category, _ int) {
		if len(cat.Children) == 0 {
			leaves = append(leaves, cat)
		}
	})
	return leaves
}
