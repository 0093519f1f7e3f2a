package proxplane_test

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// notWrites are calls that send a POST and change nothing that a plan would have to know of.
var notWrites = []string{
	"VM.Attach", "VM.Terminal", // consoles
	"Client.Probe", // logins
	"Agent.Ping",   // asks a guest agent whether it answers
}

// transport are the files of pve by which every call is sent, also those that read.
var transport = []string{"client.go", "send.go", "request.go", "auth.go", "gate.go", "scout.go"}

// pveName is a function or method of pve as "VM.Start"; empty: it is none.
func pveName(f *types.Func) string {
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != module+"pve" {
		return ""
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	typ := recv.Type()
	if p, ok := typ.(*types.Pointer); ok {
		typ = p.Elem()
	}
	if named, ok := typ.(*types.Named); ok {
		return named.Obj().Name() + "." + f.Name()
	}
	return f.Name()
}

// writers are the functions and methods of pve that change something in Proxmox: those that
// send a POST, PUT or DELETE, and those that call one of these.
func writers(p *packages.Package) map[string]bool {
	calls, writes := map[string]map[string]bool{}, map[string]bool{"post": true, "put": true, "del": true}
	for _, file := range p.Syntax {
		if slices.Contains(transport, filepath.Base(p.Fset.Position(file.Pos()).Filename)) {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			is, _ := p.TypesInfo.Defs[f.Name].(*types.Func)
			name := pveName(is)
			calls[name] = map[string]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				switch id.Name {
				case "MethodPost", "MethodPut", "MethodDelete":
					writes[name] = true
				}
				if used, ok := p.TypesInfo.Uses[id].(*types.Func); ok {
					calls[name][pveName(used)] = true
				}
				return true
			})
		}
	}
	for more := true; more; {
		more = false
		for name, of := range calls {
			for called := range of {
				if writes[called] && !writes[name] {
					writes[name], more = true, true
				}
			}
		}
	}
	for _, name := range notWrites {
		delete(writes, name)
	}
	return writes
}

// TestDoorsWriteThroughTheEngineOnly: what a door changes in Proxmox is an action, which act
// proves and admits. A door only reads through pve.
func TestDoorsWriteThroughTheEngineOnly(t *testing.T) {
	list := slices.Clone(usersOfTheClient(t))
	at := slices.IndexFunc(list, func(p *packages.Package) bool { return p.PkgPath == module+"pve" })
	if at < 0 || len(list) < 3 {
		t.Fatalf("found %v", list)
	}
	writes := writers(list[at])
	signatures := signaturesOf(list[at], writes)
	list = slices.DeleteFunc(list, func(p *packages.Package) bool {
		folder := top(strings.TrimPrefix(p.PkgPath, module))
		return !slices.Contains(doors, folder) && folder != "loadtest" && folder != "kube"
	})
	for _, known := range []string{"VM.Start", "VM.Shutdown", "VM.Rollback", "VM.DeleteSnapshot", "VM.SetConfig", "Storage.Upload", "Access.SetACL", "HA.AddResource", "Task.Stop"} {
		if !writes[known] {
			t.Errorf("%s isn't known to write", known)
		}
	}
	for _, known := range []string{"VM.Config", "Cluster.Resources", "Access.Permissions", "Storage.Content", "Client.Version", "Task.Wait"} {
		if writes[known] {
			t.Errorf("%s is taken for something that writes", known)
		}
	}
	reads := 0
	for _, p := range list {
		for _, file := range p.Syntax {
			called := map[*ast.Ident]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
						called[sel.Sel] = sendsGet(p.TypesInfo, n)
					}
				case *ast.Ident: // also a method that is a value, and is called elsewhere
					f, _ := p.TypesInfo.Uses[n].(*types.Func)
					switch name := pveName(f); {
					case name == "":
					case name == "Client.Call" && !called[n]:
						t.Errorf("%s: Call sends something else than a GET", p.Fset.Position(n.Pos()))
					case writes[name]:
						t.Errorf("%s: %s writes to Proxmox; have the engine do it, see engine.Hand", p.Fset.Position(n.Pos()), name)
					default:
						reads++
					}
				case *ast.InterfaceType: // a type of pve may be behind it
					of, _ := p.TypesInfo.TypeOf(n).(*types.Interface)
					for m := range of.ExplicitMethods() {
						if name := signatures[shape(m)]; name != "" {
							t.Errorf("%s: the interface has a method as %s, which writes to Proxmox", p.Fset.Position(n.Pos()), name)
						}
					}
				}
				return true
			})
		}
	}
	if reads < 20 {
		t.Errorf("only %d calls of pve were found", reads)
	}
}

// signaturesOf maps methods, as an interface has them, to the methods of pve that write.
func signaturesOf(p *packages.Package, writes map[string]bool) map[string]string {
	out := map[string]string{}
	for _, f := range p.TypesInfo.Defs {
		if f, ok := f.(*types.Func); ok && f.Exported() && f.Signature().Recv() != nil && writes[pveName(f)] {
			out[shape(f)] = pveName(f)
		}
	}
	return out
}

// shape is a method with the types of its parameters and results.
func shape(f *types.Func) string {
	text := f.Name()
	for _, list := range []*types.Tuple{f.Signature().Params(), f.Signature().Results()} {
		text += " |"
		for v := range list.Variables() {
			text += " " + v.Type().String()
		}
	}
	return text
}

// sendsGet reports whether a raw call only reads.
func sendsGet(info *types.Info, call *ast.CallExpr) bool {
	if len(call.Args) < 2 {
		return false
	}
	value := info.Types[call.Args[1]].Value
	return value != nil && value.ExactString() == `"GET"`
}
