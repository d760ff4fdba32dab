#!/bin/sh
echo "a,b" '{{ not a template }}'
