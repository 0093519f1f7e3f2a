package machines

import (
	"k8c.io/machine-controller/sdk/apis/cluster/common"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/status"
)

// advice is what people can do about something, in the fields of a Machine. What isn't here is advice that the
// sentence itself gives, or that makes no sense for a machine that is replaced rather than changed.
var advice = map[model.Do]string{
	model.NameTemplate: "name the right one by vmTemplateID, or rename the others",
	model.AllowCopies:  "leave cloudProviderSpec.copies out, or make a template of the same name there",
	model.CheckBridge:  "correct the bridge in cloudProviderSpec.networks",
	model.CheckStorage: "correct cloudProviderSpec.storage",
	model.CheckPrivs:   "grant the missing privilege; proxplane doctor -f FILE says which",
	model.TrustCA:      "give Proxmox' CA (/etc/pve/pve-root-ca.pem) in cloudProviderSpec.ca, or the certificate's fingerprint in fingerprints",
	model.TrustHostKey: "put the node's key into cloudProviderSpec.sshHostKeys (ssh-keyscan prints it)",
	model.RenewHostKey: "if the node was installed anew, put its new key into cloudProviderSpec.sshHostKeys; if it wasn't, somebody is in between",
	model.AuthorizeSSH: "the node must let sshUser in with the key of ciStorageSSHPrivateKey",
	model.CheckSSHKey:  "see the Secret of ciStorageSSHPrivateKey",
	model.OpenSSH:      "is SSH open to the node? cloudProviderSpec.sshAddresses may name its address",
	model.FreeSnippets: "free space on the node's storage, or name another one in ciStorageName",
	model.RenewGuest:   "delete the Machine to have another one made",
	model.AllowReplace: "delete the Machine to have another one made",
	model.AllowRestart: "restart the guest, or delete the Machine to have another one made",
}

// words are a sentence with what can be done about it.
func words(text string, do model.Advice) string {
	text = status.Sentence(text)
	switch said := advice[do.Do]; {
	case do.Text != "":
		return text + "; " + do.Text
	case said != "":
		return text + "; " + said
	}
	return text
}

// verdict says how a guest is.
func verdict(o site.Outcome) string {
	switch {
	case o.State == model.StateFailed && o.Failure != nil:
		return words(o.Text, o.Failure.Hint)
	case o.State == model.StateRefused && len(o.Refused) > 0:
		r := o.Refused[0]
		return words(r.What+" isn't done: "+status.Reason(r.Why, r.Diff), model.Advice{Do: r.Allow})
	case o.Wait != nil:
		return words(status.Text(o.Wait.Text, o.Wait.Diff), o.Wait.Do)
	case o.Text == "":
		return "it is being worked on"
	}
	return status.Sentence(status.Text(o.Text, o.Diff))
}

func reasonOf(o site.Outcome) model.Reason {
	switch {
	case o.State == model.StateFailed:
		return model.WaitFailed
	case o.Wait != nil:
		return o.Wait.Reason
	case o.Reason != "":
		return o.Reason
	}
	return model.ReasonChanging
}

// blocked reports whether somebody has to do something.
func blocked(o site.Outcome) bool {
	if o.State == model.StateFailed || o.State == model.StateRefused {
		return true
	}
	if o.State != model.StateWaiting && o.State != model.StateBlocked || o.Wait == nil {
		return false
	}
	f := o.Wait.Reason.Facts()
	return f.Ends == model.EndsByPerson || f.Ends == model.EndsByReturn
}

// errorOf is which error of the API a blocked machine has.
func errorOf(o site.Outcome) common.MachineStatusError {
	switch reasonOf(o) {
	case model.WaitMissing, model.WaitUnfit, model.WaitForbidden, model.WaitRelease:
		return common.InvalidConfigurationMachineError
	case model.WaitPlace, model.WaitVMID, model.WaitAddress:
		return common.InsufficientResourcesMachineError
	case model.WaitRestart, model.WaitRefused, model.WaitNode, model.WaitHA:
		return common.UpdateMachineError
	}
	return common.CreateMachineError
}
