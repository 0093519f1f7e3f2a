package robustness

import (
	"reflect"
	"slices"
	"testing"
)

// TestEveryKindOfFaultIsDrawn holds that nothing which the simulator can do wrong is
// left out.
func TestEveryKindOfFaultIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(enough) {
		for _, f := range drawHistory(seed).faults {
			v := reflect.ValueOf(f)
			for i := range v.NumField() {
				drawn[v.Type().Field(i).Name] = drawn[v.Type().Field(i).Name] || !v.Field(i).IsZero()
			}
		}
	}
	// These only choose which request, beside methods, paths and chance.
	choosing := []string{"ID", "Node", "VM", "Nth"}
	for name, ok := range drawn {
		if !ok && !slices.Contains(choosing, name) {
			t.Errorf("no fault with %s is drawn", name)
		}
	}
}
