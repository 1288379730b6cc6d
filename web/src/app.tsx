import { follow } from './core/url';
import { start } from './main';

follow(false);
start();
