package written

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
)

// Shape is which names objects have: those of a value's own, and those of its items.
type Shape struct {
	Fields map[string]Shape // nil: it is no object
	Item   *Shape           // of a list, a set or a map; nil: it is none
}

// ShapeOf returns the shape of the values of a schema's type.
func ShapeOf(t tftypes.Type) Shape {
	switch t := t.(type) {
	case tftypes.Object:
		s := Shape{Fields: map[string]Shape{}}
		for name, of := range t.AttributeTypes {
			s.Fields[name] = ShapeOf(of)
		}
		return s
	case tftypes.List:
		return listOf(ShapeOf(t.ElementType))
	case tftypes.Set:
		return listOf(ShapeOf(t.ElementType))
	case tftypes.Map:
		return listOf(ShapeOf(t.ElementType))
	}
	return Shape{}
}

// shapeOf is the shape of values of a variable's type.
func shapeOf(t cty.Type) Shape {
	switch {
	case t.IsObjectType():
		s := Shape{Fields: map[string]Shape{}}
		for name, of := range t.AttributeTypes() {
			s.Fields[name] = shapeOf(of)
		}
		return s
	case t.IsCollectionType():
		return listOf(shapeOf(t.ElementType()))
	}
	return Shape{}
}

func listOf(item Shape) Shape { return Shape{Item: &item} }
