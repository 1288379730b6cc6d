package pricing

import (
	"strconv"
	"strings"
)

// applyCoupons spreads the value of the coupons over the lines by their price.
func applyCoupons(q *Quote, coupons []string) {
	var value, gross int64
	for _, c := range coupons {
		value += couponValue(c)
	}
	for _, l := range q.Lines {
		gross += l.Net()
	}
	if gross == 0 {
		return
	}
	for _, l := range q.Lines {
		l.Discount = min(l.Gross, l.Discount+value*l.Net()/gross)
	}
}

// couponValue returns what a coupon such as SAVE-15 is worth in cents.
func couponValue(coupon string) int64 {
	_, digits, _ := strings.Cut(coupon, "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n * 100
}
