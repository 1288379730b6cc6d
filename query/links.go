package query

import (
	"context"
	"fmt"

	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// KeepLinkRequest asks for a short link to a page.
type KeepLinkRequest struct {
	Address string `param:"address" arg:"path" help:"path and parameters of a page, as /diff?benchmark=checkout" json:"address"`
	Maximum int    `json:"-"` // number of links in the store
}

// LinkRequest asks where a short link leads.
type LinkRequest struct {
	Link string `param:"link" arg:"id" help:"id of the link"`
}

// LinkResult is a link: /s/ID shows the page of the address.
type LinkResult struct {
	ID      string `json:"id"`
	Address string `json:"address"`
}

// KeepLink answers a KeepLinkRequest.
func KeepLink(ctx context.Context, st store.Store, r *KeepLinkRequest) (*LinkResult, error) {
	if err := store.CheckLink(r.Address); err != nil {
		return nil, param.Errorf("--address: %w", err)
	}
	keeper, ok := store.As[store.LinkKeeper](st)
	if !ok {
		return nil, fmt.Errorf("%w: it keeps no short links, use the whole address", store.ErrReadOnly)
	}
	if err := keeper.KeepLink(ctx, r.Address, r.Maximum); err != nil {
		return nil, err
	}
	return &LinkResult{store.LinkID(r.Address), r.Address}, nil
}

// Link answers a LinkRequest.
func Link(ctx context.Context, st store.Store, r *LinkRequest) (*LinkResult, error) {
	out := &LinkResult{ID: r.Link}
	if keeper, ok := store.As[store.LinkKeeper](st); ok {
		var err error
		if out.Address, err = keeper.Link(ctx, r.Link); err != nil {
			return nil, err
		}
	}
	if out.Address == "" {
		return nil, fmt.Errorf("%w: the store has no link %.20q; links are of the store that they were made on", store.ErrNothing, r.Link)
	}
	return out, nil
}
