package model

import (
	"reflect"
	"testing"
)

// A field that is in no table of its look would be neither added nor read.
func TestEachPartOfALookIsInATable(t *testing.T) {
	var l Look
	fields := map[any]string{}
	v := reflect.ValueOf(&l).Elem()
	for i := range v.NumField() {
		fields[v.Field(i).Addr().Interface()] = v.Type().Field(i).Name
	}
	names := map[string]bool{}
	found := func(name string, at any) {
		if fields[at] == "" || names[name] {
			t.Errorf("%q is of no field, or twice", name)
		}
		delete(fields, at)
		names[name] = true
	}
	for _, p := range l.Guests() {
		found(p.Name, p.At)
	}
	for _, p := range l.Wholes() {
		found(p.Name, p.At)
	}
	for _, p := range l.Names() {
		found(p.Name, p.At)
	}
	for _, name := range fields {
		t.Errorf("%s is in no table", name)
	}
}

func TestAnyPartMakesALookOneToTake(t *testing.T) {
	try := func(name string, set func(*Look)) {
		var l, sum Look
		if !l.Empty() {
			t.Fatal("a look at nothing isn't empty")
		}
		set(&l)
		if sum.Add(l); l.Empty() || sum.Empty() {
			t.Errorf("a look at %s is empty", name)
		}
	}
	for i, p := range new(Look).Guests() {
		try(p.Name, func(l *Look) { *l.Guests()[i].At = []int{1} })
	}
	for i, p := range new(Look).Wholes() {
		try(p.Name, func(l *Look) { *l.Wholes()[i].At = true })
	}
	for i, p := range new(Look).Names() {
		try(p.Name, func(l *Look) { *l.Names()[i].At = []string{"x"} })
	}
}
