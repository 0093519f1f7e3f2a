output "ignition" {
  value = provider::proxplane::butane("variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/hostname\n      contents: {inline: \"$${vm_name}\"}\n", {
    snippets  = ["variant: flatcar\nversion: 1.1.0\npasswd:\n  users:\n    - name: core\n"]
    variables = { vm_name = "web-1" }
  })
}
