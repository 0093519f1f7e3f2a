package terraform

import (
	provider "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// attributes are fields as attributes of a resource.
func attributes(fields []field) map[string]schema.Attribute {
	all := map[string]schema.Attribute{}
	for _, f := range fields {
		all[f.name] = f.attribute()
	}
	return all
}

func (f field) attribute() schema.Attribute {
	optional := !f.required
	switch f.shape {
	case integer:
		return schema.NumberAttribute{Required: f.required, Optional: optional, Description: f.about, Validators: []validator.Number{wholeNumbers{}}}
	case number:
		return schema.Float64Attribute{Required: f.required, Optional: optional, Description: f.about}
	case boolean:
		return schema.BoolAttribute{Required: f.required, Optional: optional, Description: f.about}
	case object:
		return schema.SingleNestedAttribute{Required: f.required, Optional: optional, Description: f.about, Attributes: attributes(f.fields)}
	case list:
		if f.item.shape == object {
			return schema.ListNestedAttribute{Required: f.required, Optional: optional, Description: f.about, NestedObject: schema.NestedAttributeObject{Attributes: attributes(f.item.fields)}}
		}
		return schema.ListAttribute{Required: f.required, Optional: optional, Description: f.about, ElementType: f.item.element(), Validators: []validator.List{wholeNumbers{}}}
	case mapping:
		if f.item.shape == object {
			return schema.MapNestedAttribute{Required: f.required, Optional: optional, Description: f.about, NestedObject: schema.NestedAttributeObject{Attributes: attributes(f.item.fields)}}
		}
		return schema.MapAttribute{Required: f.required, Optional: optional, Description: f.about, ElementType: f.item.element(), Validators: []validator.Map{wholeNumbers{}}}
	}
	return schema.StringAttribute{Required: f.required, Optional: optional, Description: f.about, WriteOnly: f.secret, Sensitive: f.secret}
}

// element is the type of an item that is no object.
func (f field) element() attr.Type {
	switch f.shape {
	case integer:
		return types.NumberType
	case number:
		return types.Float64Type
	case boolean:
		return types.BoolType
	case list:
		return types.ListType{ElemType: f.item.element()}
	case mapping:
		return types.MapType{ElemType: f.item.element()}
	}
	return types.StringType
}

// settings are fields as attributes of the provider, which may all be left out.
func settings(fields []field) map[string]provider.Attribute {
	all := map[string]provider.Attribute{}
	for _, f := range fields {
		all[f.name] = f.setting()
	}
	return all
}

func (f field) setting() provider.Attribute {
	switch f.shape {
	case integer:
		return provider.NumberAttribute{Optional: true, Description: f.about, Validators: []validator.Number{wholeNumbers{}}}
	case number:
		return provider.Float64Attribute{Optional: true, Description: f.about}
	case boolean:
		return provider.BoolAttribute{Optional: true, Description: f.about}
	case object:
		return provider.SingleNestedAttribute{Optional: true, Description: f.about, Attributes: settings(f.fields)}
	case list:
		if f.item.shape == object {
			return provider.ListNestedAttribute{Optional: true, Description: f.about, NestedObject: provider.NestedAttributeObject{Attributes: settings(f.item.fields)}}
		}
		return provider.ListAttribute{Optional: true, Description: f.about, ElementType: f.item.element(), Validators: []validator.List{wholeNumbers{}}}
	case mapping:
		if f.item.shape == object {
			return provider.MapNestedAttribute{Optional: true, Description: f.about, NestedObject: provider.NestedAttributeObject{Attributes: settings(f.item.fields)}}
		}
		return provider.MapAttribute{Optional: true, Description: f.about, ElementType: f.item.element(), Validators: []validator.Map{wholeNumbers{}}}
	}
	return provider.StringAttribute{Optional: true, Description: f.about, Sensitive: f.secret}
}
