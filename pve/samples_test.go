package pve

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// samples are good values of parameters. "Type.name" is for a parameter of one option struct
// only.
var samples = map[string]string{
	"acl": "1", "affinity": "negative", "action": "ACCEPT", "append": "1", "allow-move": "1", "archive": "local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst",
	"background_delay": "10", "bwlimit": "1000", "checksum": "00", "checksum-algorithm": "sha256", "command": "/bin/sh,-c,echo exec-command-secret",
	"comment": "ours & theirs; a=b", "compression": "gz", "content": "iso", "current": "1", "delete": "1", "description": "line\n50% ä",
	"dest": "10.0.0.0/8", "destroy-unreferenced-disks": "0", "digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709", "disable": "1",
	"disk": "scsi0", "dport": "80,443", "email": "a@example.com", "enable": "1", "enabled": "1", "errors": "1", "expire": "1900000000",
	"failback": "0", "file": "/etc/hostname", "filename": "vm-100-disk-1.qcow2", "force": "1", "force-cpu": "host", "forceStop": "1",
	"format": "qcow2", "full": "0", "generate-password": "1", "group": "g1", "groups": "admins,ops", "ha-managed": "1", "icmp-type": "any",
	"id": "share", "idlist": "unused0,scsi1", "iface": "net0", "import-working-storage": "local", "input-data": "exec-input-secret",
	"keepActive": "1", "limit": "100", "live-migration-capable": "1", "live-restore": "1", "log": "info", "machine": "pc-q35-9.2",
	"macro": "HTTP", "map": "node=pve1|path=/srv/share", "max_relocate": "0", "max_restart": "2", "mdev": "1", "migration_network": "10.0.0.0/24",
	"migration_type": "secure", "name": "web-1", "newid": "101", "nocheck": "1", "nodes": "pve1:2,pve2", "nofailback": "1", "notes": "keep",
	"online": "1", "overrule-shutdown": "1", "password": "new-user-password", "path": "/vms", "pool": "team", "privs": "VM.Audit,VM.Clone",
	"privsep": "0", "propagate": "0", "protected": "1", "proto": "tcp", "purge": "1", "rename": "web", "resources": "vm:100,vm:101",
	"restricted": "1", "revert": "memory", "roles": "PVEAuditor", "size": "32G", "skiplock": "1", "snapname": "s1", "snapshot": "s1",
	"sport": "1024:65535", "since": "1700000000", "source": "10.1.0.0/16", "start": "1", "state": "started", "statestorage": "local",
	"statusfilter": "ok,error", "storage": "local", "strict": "1", "target": "pve2", "target-digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
	"target-disk": "scsi1", "target-vmid": "101", "targetstorage": "local", "timeout": "60", "todisk": "1", "tokens": "a@pve!ci",
	"type": "in", "typefilter": "qmclone", "unique": "1", "until": "1800000000",
	"url": "https://user:url-password@images.test/a.iso?X-Signature=url-signature", "userfilter": "root", "userid": "a@pve", "users": "a@pve,b@pve",
	"verify-certificates": "0", "vmid": "100", "vms": "100,101", "vmstate": "1", "websocket": "1", "with-conntrack-state": "1", "with-local-disks": "1",

	"ConfigChange.delete": "net1,unused0", "HAChange.delete": "comment", "HARuleChange.delete": "comment",
	"DirMappingChange.delete": "description", "StorageFilter.format": "1", "StorageFilter.content": "iso,images", "TaskFilter.source": "all",
	"DownloadOptions.filename": "a.iso",
	"FirewallRule.iface":       "net0", "HARule.type": "node-affinity",
}

// sampleSettings are a config with a bit of everything, and a secret.
var sampleSettings = Settings{
	"name": "web-1", "memory": "2048", "cores": "2", "cpu": "host", "agent": "1", "net0": "virtio,bridge=vmbr0,tag=5", "scsi0": "local:32,ssd=1",
	"ide2": "local:iso/a.iso,media=cdrom", "efidisk0": "local:1,efitype=4m", "ipconfig0": "ip=10.0.0.5/24,gw=10.0.0.1", "ciuser": "admin",
	"cipassword": "cloud-init-password", "tags": "a;b", "description": "web & more; x=y", "onboot": "1", "boot": "order=scsi0", "serial0": "socket",
}

// filled gives options in which everything is set that the release has.
func filled[T any](r release) T {
	var out T
	fill(reflect.ValueOf(&out).Elem(), r)
	return out
}

func fill(v reflect.Value, r release) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, opt, _ := strings.Cut(field.Tag.Get("pve"), ",")
		since, _ := strconv.Atoi(field.Tag.Get("since"))
		switch {
		case field.Type == reflect.TypeFor[Settings]():
			v.Field(i).Set(reflect.ValueOf(sampleSettings))
		case field.Anonymous:
			fill(v.Field(i), r)
		case name == "-" || int(r) < since:
		default:
			text, ok := samples[v.Type().Name()+"."+name]
			if !ok {
				text, ok = samples[name]
			}
			if !ok {
				panic(fmt.Sprintf("no sample for %s of %v", name, v.Type()))
			}
			fillField(v.Field(i), text, opt)
		}
	}
}

func fillField(v reflect.Value, text, opt string) {
	number, _ := strconv.ParseInt(text, 10, 64)
	switch v.Interface().(type) {
	case Secret:
		v.Set(reflect.ValueOf(NewSecret(text)))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(number, 0)))
		return
	case time.Duration:
		v.Set(reflect.ValueOf(time.Duration(number) * time.Second))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillField(v.Elem(), text, opt)
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(text == "1")
	case reflect.Int:
		v.SetInt(number)
	case reflect.Slice:
		for _, word := range strings.Split(text, ",") {
			item := reflect.New(v.Type().Elem()).Elem()
			// A mapping has commas of its own.
			fillField(item, strings.ReplaceAll(word, "|", ","), "")
			v.Set(reflect.Append(v, item))
		}
	default:
		panic(fmt.Sprintf("can't fill a %v", v.Type()))
	}
}
