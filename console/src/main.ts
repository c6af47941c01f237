// The beginning: styles, theme, and the application.
import { mount } from 'svelte';
import App from './App.svelte';
import './app.css';
import { theme } from './lib/theme.svelte';

theme.start();
mount(App, { target: document.getElementById('app')! });
