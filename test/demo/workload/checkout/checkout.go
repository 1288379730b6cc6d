// Package checkout is the service behind the demo shop's checkout: it takes
// orders as JSON and answers with packed receipts.
package checkout

import (
	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/order"
	"github.com/dendroprof/dendro/test/demo/workload/pipeline"
	"github.com/dendroprof/dendro/test/demo/workload/pricing"
	"github.com/dendroprof/dendro/test/demo/workload/wire"
)

// Options selects how the service works.
type Options struct {
	// BypassRuleCache compiles the pattern of a price rule at every use.
	BypassRuleCache bool
}

// job is one order on its way through the stages.
type job struct {
	request  []byte
	order    *order.Order
	quote    *pricing.Quote
	page     []byte
	response *wire.Response
}

// Service checks out orders.
type Service struct {
	engine *pricing.Engine
	stock  *stock
	pool   *pipeline.Pool[*job]
}

// New starts a service for the catalog.
func New(c *catalog.Catalog, opts Options) *Service {
	s := &Service{engine: pricing.NewEngine(c, opts.BypassRuleCache), stock: newStock(c)}
	s.pool = pipeline.New(
		pipeline.Stage[*job]{Run: s.decodeStage, Workers: 2},
		pipeline.Stage[*job]{Run: s.reserveStage, Workers: 1},
		pipeline.Stage[*job]{Run: s.priceStage, Workers: 2},
		pipeline.Stage[*job]{Run: s.receiptStage, Workers: 2},
		pipeline.Stage[*job]{Run: s.packStage, Workers: 2},
	)
	return s
}

// Checkout answers the requests, in their order.
func (s *Service) Checkout(requests [][]byte) ([]*wire.Response, error) {
	jobs := make([]*job, len(requests))
	for i, r := range requests {
		jobs[i] = &job{request: r}
	}
	if err := s.pool.Do(jobs); err != nil {
		return nil, err
	}
	responses := make([]*wire.Response, len(jobs))
	for i, j := range jobs {
		responses[i] = j.response
	}
	return responses, nil
}

func (s *Service) decodeStage(j *job) (err error) {
	j.order, err = order.Decode(j.request)
	return err
}

func (s *Service) reserveStage(j *job) error { return s.stock.reserve(j.order) }

func (s *Service) priceStage(j *job) (err error) {
	j.quote, err = s.engine.Price(j.order)
	return err
}

func (s *Service) receiptStage(j *job) (err error) {
	j.page, err = renderReceipt(j.order, j.quote)
	return err
}

func (s *Service) packStage(j *job) (err error) {
	j.response, err = wire.Pack(j.page)
	return err
}
