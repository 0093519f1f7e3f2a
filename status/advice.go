package status

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
)

// Words is the vocabulary of a door. Plans and failures have codes for advice
// ([model.Advice]); here are the texts of each code for each door.
type Words int

// The doors.
const (
	CLI        Words = iota // flags, commands and fields of manifests
	Kubernetes              // fields of objects, kubectl and its plugin
	Terraform               // attributes of resources
	Cluster                 // flags of `proxplane cluster`, whose machines have no manifest
)

// consents are what agrees to a step that was refused.
var consents = map[model.Do][2]string{
	model.AllowRestart:   {"--allow-restart, or updatePolicy.restart: Allow", "spec.updatePolicy.restart: Allow"},
	model.AllowReplace:   {"--allow-replace, or updatePolicy.replace: Allow", "spec.updatePolicy.replace: Allow"},
	model.AllowDataLoss:  {"--allow-data-loss, or updatePolicy.removeDisks: Allow", "spec.updatePolicy.removeDisks: Allow"},
	model.AllowStop:      {"--allow-stop, or updatePolicy.stop: Allow", "spec.updatePolicy.stop: Allow"},
	model.AllowMove:      {"--allow-move, or updatePolicy.move: Allow", "spec.updatePolicy.move: Allow"},
	model.AllowScaleDown: {"--prune, or updatePolicy.scaleDown: Allow", "spec.updatePolicy.scaleDown: Allow"},
	model.AllowDelete:    {"protection: false in the manifest", "spec.protection: false"},
	model.AllowLate:      {"--yes", "another look at the plan"},
}

// clusterConsents are the flags of `proxplane cluster` by which people agree.
var clusterConsents = map[model.Do]string{model.AllowRestart: "--allow-restart"}

// Consent names the flag or field that allows a refused step.
func (w Words) Consent(do model.Do) string {
	switch w {
	case Terraform:
		return terraformConsents[do]
	case Cluster:
		return clusterConsents[do]
	}
	return consents[do][w]
}

// advice is what a person can do, in the words of each door.
var advice = map[model.Do][2]func(model.Advice) string{
	model.AllowMove: {
		func(a model.Advice) string { return CLI.Consent(a.Do) + ", migrates it to " + a.Node },
		func(a model.Advice) string { return "set " + Kubernetes.Consent(a.Do) + " to migrate it to " + a.Node },
	},
	model.RenewGuest: {
		same(CLI.Consent(model.AllowReplace) + ", makes this one anew"),
		same("set " + Kubernetes.Consent(model.AllowReplace) + " to make this one anew"),
	},
	model.ImportGuest: {
		same("choose another VMID, or adopt it with proxplane import"),
		func(a model.Advice) string {
			return fmt.Sprintf("choose another VMID, or adopt it with kubectl proxplane import %d", a.VMID)
		},
	},
	model.ProveGuest: {
		func(a model.Advice) string {
			return fmt.Sprintf("if it is this machine, put the proof back with proxplane import %d --adopt --as %s%s", a.VMID, a.Owner.Name, setFlag(a.Owner))
		},
		func(a model.Advice) string {
			return fmt.Sprintf("if it is this machine, put the proof back with kubectl proxplane import %d", a.VMID)
		},
	},
	model.TakeOver: both(func(a model.Advice) string { return takeOver(a) + " takes it over, else remove or rename it" }),
	model.TakeOverSnap: both(func(a model.Advice) string {
		return takeOver(a) + " takes it over, else delete it or choose another name"
	}),
	model.DeleteGuest: {
		func(a model.Advice) string {
			return fmt.Sprintf("if it is, remove it with proxplane delete vm/%d", a.VMID)
		},
		func(a model.Advice) string { return fmt.Sprintf("if it is, remove VM %d in Proxmox", a.VMID) },
	},
	model.InstallHook: {
		same("proxplane hook install --node NODE puts the hook there"),
		same("install proxplane's hook on the node, see docs/hook.md"),
	},
	model.CheckBridge: {
		same("correct the bridge in the manifest; proxplane describe node/NAME shows which there are"),
		same("correct the bridge of the network; kubectl proxplane describe node/NAME shows which there are"),
	},
	model.CheckStorage: {
		same("see which storages there are: proxplane get storages"),
		same("kubectl proxplane describe node/NAME shows which storages there are"),
	},
	model.CheckPrivs: {
		same("grant the missing privilege; proxplane doctor says which"),
		same("grant the missing privilege; kubectl proxplane doctor says which"),
	},
	model.StopGuest: {
		same("its guest ignored the shutdown: shut it down from inside, or allow it to be stopped (" + CLI.Consent(model.AllowStop) + ")"),
		same("its guest ignored the shutdown: shut it down from inside, or allow it to be stopped with " + Kubernetes.Consent(model.AllowStop)),
	},
	model.MoveDisks: {
		same("one of its disks is where there are no snapshots, such as a raw file or thick LVM: proxplane describe shows where they are"),
		same("one of its disks is where there are no snapshots, such as a raw file or thick LVM: kubectl proxplane describe shows where they are"),
	},
	model.DropSnapshots: {
		same("its snapshots are in the way: delete them first (proxplane snapshot delete, or take them out of the manifests)"),
		same("its snapshots are in the way: delete the VMSnapshots first, and those that were taken in Proxmox there"),
	},
	model.OwnData:      both(same("give it userData of its own to change them")),
	model.NameTemplate: both(same("name the VMID of the right one as the source, say which one is meant with sourceSelector, or rename the others")),
	model.AllowCopies: fields(func(_ model.Advice, spec string) string {
		return fmt.Sprintf("let the image be copied to other nodes with %scopies: auto, or make a template of the same name there", spec)
	}),
	model.DescribeImage: both(same("describe the template as a VMImage and name that as the source: it is copied to the nodes that need it then; or make a template of the same name there")),
	model.AllowSource: fields(func(a model.Advice, spec string) string {
		return fmt.Sprintf("whoever may change the Provider can allow it with %sallow.sources: [\"%d\"]", spec, a.VMID)
	}),
	model.NameVMID: both(func(a model.Advice) string {
		return fmt.Sprintf("if it is, put vmid: %d into the manifest, else remove the marker from its notes", a.VMID)
	}),
	model.MakeDirectory: both(same("make the directory on the node (mkdir -p), or have a VMPlacementPolicy name the nodes that have it")),
	model.TrustCA:       both(same("have Proxmox' CA trusted: a copy of /etc/pve/pve-root-ca.pem as ca.crt in the Secret, or the certificate's fingerprint in the Provider")),
	model.NameSSH:       fields(func(_ model.Advice, spec string) string { return "say how in " + spec + "ssh of the Provider" }),
	model.RenewHostKey: fields(func(_ model.Advice, spec string) string {
		return "if the node was installed anew, put its new key into knownHosts of " + spec + "ssh, or take the old one out of the file (ssh-keygen -R); if it wasn't, somebody is in between"
	}),
	model.TrustHostKey: fields(func(_ model.Advice, spec string) string {
		return "put the node's key into knownHosts of " + spec + "ssh (ssh-keyscan prints it), or set trustOnFirstUse"
	}),
	model.AuthorizeSSH: fields(func(_ model.Advice, spec string) string {
		return "the node must let the user of " + spec + "ssh in with that key: see its authorized_keys"
	}),
	model.CheckSSHKey:  fields(func(_ model.Advice, spec string) string { return "see the Secret of " + spec + "ssh" }),
	model.FreeSnippets: both(same("free space on the node's storage, or name another one (snippetStorage)")),
	model.OpenSSH: fields(func(_ model.Advice, spec string) string {
		return "is SSH open to the node? " + spec + "ssh of the Provider may name its address"
	}),
}

func same(text string) func(model.Advice) string { return func(model.Advice) string { return text } }

// fields returns advice that names fields: objects have them below spec.
func fields(f func(a model.Advice, spec string) string) [2]func(model.Advice) string {
	return [2]func(model.Advice) string{
		func(a model.Advice) string { return f(a, "") },
		func(a model.Advice) string { return f(a, "spec.") },
	}
}

func both(f func(model.Advice) string) [2]func(model.Advice) string {
	return [2]func(model.Advice) string{f, f}
}

// Advice returns the text of an advice; empty: none.
func (w Words) Advice(a model.Advice) string {
	consent := w.Consent(a.Do)
	switch {
	case w == Terraform && consent != "":
		return "set " + consent
	case w == Terraform && terraformAdvice[a.Do] != nil:
		return terraformAdvice[a.Do](a)
	case w == Cluster && consent != "":
		return "allow it with " + consent
	case w == Terraform, w == Cluster:
		w = CLI // whose commands are at hand beside theirs
	}
	if say := advice[a.Do][w]; say != nil {
		return say(a)
	}
	if consent != "" && w == CLI {
		return "allow it with " + consent
	} else if consent != "" {
		return "set " + consent
	}
	return Sentence(a.Text)
}

// Say returns a text with its advice.
func (w Words) Say(text string, do model.Advice) string {
	text = Sentence(text)
	if d := w.Advice(do); d != "" {
		text += "; " + d
	}
	return text
}

// Note returns the text of a note.
func (w Words) Note(n plan.Note) string {
	return w.Say(Text(n.Text, n.Diff), n.Do)
}

// Wait returns the text of a wait.
func (w Words) Wait(why plan.Wait) string { return w.Say(Text(why.Text, why.Diff), why.Do) }

// Waits returns that an object waits, and why.
func (w Words) Waits(why plan.Wait) string {
	switch {
	case why.Reason == model.WaitAgent:
		return "waits " + w.Wait(why)
	case why.Reason.Blocks():
		return "blocked: " + w.Wait(why)
	}
	return "waits: " + w.Wait(why)
}

// takeOver returns the command by which an object gets what another one had, or what it had
// itself in a Kubernetes of another name.
func takeOver(a model.Advice) string {
	o, was := a.Owner, a.Former
	command := fmt.Sprintf("kubectl annotate --overwrite -n %s %s %s infra.virtrigaud.io/identity=%s", cmp.Or(o.Namespace, "default"), strings.ToLower(o.Kind), o.Name, quoted(was.UID))
	if was.Set != o.Set {
		command += fmt.Sprintf(" infra.virtrigaud.io/cluster-name=%s infra.virtrigaud.io/taken-over-by=%s", quoted(was.Set), quoted(o.Set))
	}
	return command
}

// setFlag names the set of an owner, unless it is the one that commands take when none is
// named.
func setFlag(o model.Owner) string {
	if o.Set == "" || o.Set == "default" {
		return ""
	}
	return " --set " + o.Set
}

// plainWord is what shells take as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+:/@-]*$`)

// quoted returns a word for a command that people paste into a shell. Others may have written it
// into a guest's notes.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
