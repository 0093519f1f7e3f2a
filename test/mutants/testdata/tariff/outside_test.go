package tariff_test

import (
	"testing"

	"github.com/proxplane/proxplane/test/mutants/testdata/tariff"
)

// It comes by all changes that the tests inside notice, and notices none.
func TestThereIsAPrice(t *testing.T) {
	_ = tariff.Price([]int{1, -2, 0}, true, true)
}
