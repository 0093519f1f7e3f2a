package hook

// StartingPolicy is a policy that allows nothing, and shows how to allow
// something.
const StartingPolicy = `# What the VMs of this host may ask proxplane's hook for. Nothing is allowed until a
# rule allows it; proxplane hook check VMID tells what would be done and refused.
# This file, and the folder it is in, must belong to root and be writable by
# nobody else.
rules: []
# rules:
# - vms: [100, 200-299]      # VMIDs and ranges, or all
#   pools: [web]             # and the members of these pools
#   shares:                  # directories that may be shared by virtiofs
#   - path: /srv/data
#   - {path: /srv/docs, below: true, readOnly: true}
#   scripts: ["local:snippets/notify.sh"]
#   seeds: [attached, "local:iso/proxplane-{vmid}-*.iso"]   # ISOs that Ignition files may come from
`
